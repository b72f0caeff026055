//! Conversions with mistakes.

use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
pub struct ThingSpec {
    pub size: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
}

macro_rules! kind {
    ($new:ident, $old:ident, $kind:literal) => {
        #[derive(Resource, Clone, Debug)]
        #[resource(group = "lossy.example.com", version = "v1", namespaced, served($old))]
        pub struct $new {
            pub metadata: ObjectMeta,
            pub spec: ThingSpec,
        }

        #[derive(Resource, Clone, Debug)]
        #[resource(group = "lossy.example.com", version = "v1beta1", kind = $kind, namespaced)]
        pub struct $old {
            pub metadata: ObjectMeta,
            pub spec: ThingSpec,
        }
    };
}

kind!(Failing, FailingBefore, "Failing");

impl From<FailingBefore> for Failing {
    fn from(old: FailingBefore) -> Self {
        Self {
            metadata: old.metadata,
            spec: old.spec,
        }
    }
}

impl TryFrom<Failing> for FailingBefore {
    type Error = &'static str;

    fn try_from(new: Failing) -> Result<Self, Self::Error> {
        match new.spec.size > 50 {
            true => Err("the size is too large"),
            false => Ok(Self {
                metadata: new.metadata,
                spec: new.spec,
            }),
        }
    }
}

kind!(Growing, GrowingBefore, "Growing");

impl From<GrowingBefore> for Growing {
    fn from(old: GrowingBefore) -> Self {
        let mut spec = old.spec;
        spec.size = spec.size.saturating_add(1);
        Self {
            metadata: old.metadata,
            spec,
        }
    }
}

impl From<Growing> for GrowingBefore {
    fn from(new: Growing) -> Self {
        Self {
            metadata: new.metadata,
            spec: new.spec,
        }
    }
}
