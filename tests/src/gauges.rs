//! An operator in two releases: the second one serves its kind in two versions.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use pilothouse::prelude::*;

/// A measure in the version that the second release of the operator stores.
#[derive(Resource, Clone, Debug)]
#[resource(
    group = "conversions.example.com",
    version = "v2",
    namespaced,
    served(v1::Gauge)
)]
pub struct Gauge {
    /// Name, labels and the rest.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: GaugeSpec,
}

/// A value with its unit.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct GaugeSpec {
    /// The number.
    pub value: i32,
    /// Its unit.
    pub unit: String,
    /// The older version lacks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alarm: Option<i32>,
}

/// The older version.
pub mod v1 {
    use super::*;

    /// A measure in the only version of the first release.
    #[derive(Resource, Clone, Debug)]
    #[resource(group = "conversions.example.com", version = "v1", namespaced)]
    pub struct Gauge {
        /// Name, labels and the rest.
        pub metadata: ObjectMeta,
        /// What is wanted.
        pub spec: GaugeSpec,
    }

    /// A text such as `10 kPa`.
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    pub struct GaugeSpec {
        /// The number, a space, and the unit.
        pub text: String,
    }
}

impl TryFrom<v1::Gauge> for Gauge {
    type Error = &'static str;

    fn try_from(old: v1::Gauge) -> Result<Self, Self::Error> {
        let (value, unit) = old.spec.text.split_once(' ').ok_or("spec.text: no unit")?;
        Ok(Self {
            metadata: old.metadata,
            spec: GaugeSpec {
                value: value.parse().map_err(|_| "spec.text: no number")?,
                unit: unit.to_owned(),
                alarm: None,
            },
        })
    }
}

impl From<Gauge> for v1::Gauge {
    fn from(new: Gauge) -> Self {
        let text = format!("{} {}", new.spec.value, new.spec.unit);
        Self {
            metadata: new.metadata,
            spec: v1::GaugeSpec { text },
        }
    }
}

struct First;

impl Reconciler for First {
    type Resource = v1::Gauge;

    async fn reconcile(&self, _: Arc<v1::Gauge>, _: &Context<v1::Gauge>) -> Result<Action> {
        Ok(Action::wait())
    }
}

/// The values that a controller has seen.
pub type Seen = Arc<Mutex<BTreeMap<String, i32>>>;

struct Second(Seen);

impl Reconciler for Second {
    type Resource = Gauge;

    async fn reconcile(&self, gauge: Arc<Gauge>, _: &Context<Gauge>) -> Result<Action> {
        let name = gauge.name().to_owned();
        self.0.lock().insert(name, gauge.spec.value);
        Ok(Action::wait())
    }
}

/// The first release, which knows only the older version.
pub fn first_release() -> Operator {
    Operator::new("gauges").controller(First)
}

/// The second release.
pub fn second_release(seen: &Seen) -> Operator {
    Operator::new("gauges").controller(Second(seen.clone()))
}
