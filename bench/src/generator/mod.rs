//! Objects to measure with: many, diverse, and the same for the same seed.
//!
//! What compresses or interns well must not look better than it is, so the objects are those of
//! [`APPS`] applications that differ in labels, images, probes, volumes, and in the number of
//! environment variables and annotations, which have a long tail. Some applications have many
//! replicas and most have few. An object depends on the seed and on its number alone: the first
//! thousand of ten thousand are the thousand.
//!
//! Nothing is taken from a real cluster.

mod app;
mod config_map;
mod custom;
mod managed_fields;
mod pod;
mod random;

#[cfg(test)]
mod tests;

pub use random::Random;

use app::App;
use serde_json::Value;

/// How many applications there are.
pub const APPS: usize = 320;

/// How many namespaces there are.
const NAMESPACES: usize = 60;

/// The resource version of the first object. All that a run ever hands out have as many digits, so that one can be put
/// into the place of another.
pub const FIRST_VERSION: u64 = 10_000_000;

/// What is generated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Pods of about 5.8 KB, of which managed fields are a third.
    Pod,
    /// ConfigMaps of about 0.6 KB.
    ConfigMap,
    /// Objects of a custom resource, of about 1.4 KB.
    Widget,
}

/// Makes objects.
pub struct Generator {
    seed: u64,
    apps: Vec<App>,
}

impl Generator {
    /// The one of this seed.
    pub fn new(seed: u64) -> Self {
        let apps = (0..APPS).map(|number| App::new(seed, number)).collect();
        Self { seed, apps }
    }

    /// The object of this number, as a list's item: without kind and version.
    pub fn object(&self, kind: Kind, number: u64) -> Value {
        let random = &mut Random::new(&[self.seed, kind as u64, number]);
        let app = &self.apps[self.app_of(random)];
        match kind {
            Kind::Pod => pod::pod(app, number, random),
            Kind::ConfigMap => config_map::config_map(app, number, random),
            Kind::Widget => custom::widget(app, number, random),
        }
    }

    /// A few have many: half of all objects belong to an eighth of the applications.
    fn app_of(&self, random: &mut Random) -> usize {
        let share = random.fraction();
        ((share * share * share * self.apps.len() as f64) as usize).min(self.apps.len() - 1)
    }
}
