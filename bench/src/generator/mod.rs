//! Generates the objects of the benchmarks: many, diverse, and the same for the same seed.
//!
//! Compression and interning must not look better than with real objects. So the objects belong to
//! [`APPS`] applications, which differ in labels, images, probes, volumes, and in the number of
//! environment variables and annotations, which have a long tail. Some applications have many
//! replicas and most have few. An object depends on the seed and on its number alone: the first
//! thousand of ten thousand are the thousand.
//!
//! No data comes from a real cluster.

mod app;
mod config_map;
mod custom;
mod managed_fields;
mod node;
mod pod;
mod random;
mod secret;

#[cfg(test)]
mod tests;

pub use random::Random;

use app::App;
use serde_json::Value;

/// The number of applications.
pub const APPS: usize = 320;

/// The number of namespaces.
const NAMESPACES: usize = 60;

/// The resource version of the first object. All versions of a run have the same number of digits, so that one can overwrite
/// another in place.
pub const FIRST_VERSION: u64 = 10_000_000;

/// The kind of the generated objects.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Pods of about 5.8 KB, of which managed fields are a third.
    Pod,
    /// ConfigMaps of about 0.6 KB.
    ConfigMap,
    /// Objects of a custom resource, of about 1.4 KB.
    Widget,
    /// Nodes of about 15 KB, most of which are the names of images.
    Node,
    /// Secrets of 540 KiB in one to three keys.
    LargeSecret,
    /// ConfigMaps of 257 bytes.
    SmallConfigMap,
    /// Secrets of about 2 KB.
    Secret,
}

/// Generates objects.
pub struct Generator {
    seed: u64,
    apps: Vec<App>,
}

impl Generator {
    /// Returns the generator of this seed.
    pub fn new(seed: u64) -> Self {
        let apps = (0..APPS).map(|number| App::new(seed, number)).collect();
        Self { seed, apps }
    }

    /// Returns the object of this number as a list item: without `kind` and `apiVersion`.
    pub fn object(&self, kind: Kind, number: u64) -> Value {
        let random = &mut Random::new(&[self.seed, kind as u64, number]);
        let app = &self.apps[self.app_of(random)];
        match kind {
            Kind::Pod => pod::pod(app, number, random),
            Kind::ConfigMap => config_map::config_map(app, number, random),
            Kind::Widget => custom::widget(app, number, random),
            Kind::Node => node::node(&self.apps, number, random),
            Kind::Secret => secret::secret(app, number, random),
            Kind::LargeSecret => secret::large(app, number, random),
            Kind::SmallConfigMap => config_map::small(app, number, random),
        }
    }

    /// Chooses an application. A few have many objects: half of all objects belong to an eighth of the applications.
    fn app_of(&self, random: &mut Random) -> usize {
        let share = random.fraction();
        ((share * share * share * self.apps.len() as f64) as usize).min(self.apps.len() - 1)
    }
}
