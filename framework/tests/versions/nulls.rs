//! Values that may be null: in a list, in a map, and in a field. The older version has other names for the fields.

use std::collections::BTreeMap;

use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct LimitsSpec {
    pub steps: Vec<Option<i32>>,
    pub limits: BTreeMap<String, Option<i32>>,
    #[schema(nullable)]
    pub owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable)]
    pub team: Option<String>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct LimitsSpecBefore {
    pub list: Vec<Option<i32>>,
    pub map: BTreeMap<String, Option<i32>>,
    #[schema(nullable)]
    pub user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable)]
    pub group: Option<String>,
}

macro_rules! kind {
    ($new:ident, $old:ident, $kind:literal, $limits:expr) => {
        #[derive(Resource, Clone, Debug)]
        #[resource(group = "nulls.example.com", version = "v1", namespaced, served($old))]
        pub struct $new {
            pub metadata: ObjectMeta,
            pub spec: LimitsSpec,
        }

        #[derive(Resource, Clone, Debug)]
        #[resource(group = "nulls.example.com", version = "v1beta1", kind = $kind, namespaced)]
        pub struct $old {
            pub metadata: ObjectMeta,
            pub spec: LimitsSpecBefore,
        }

        impl From<$old> for $new {
            fn from(old: $old) -> Self {
                let LimitsSpecBefore {
                    list: steps,
                    map: limits,
                    user: owner,
                    group: team,
                } = old.spec;
                Self {
                    metadata: old.metadata,
                    spec: LimitsSpec {
                        steps,
                        limits,
                        owner,
                        team,
                    },
                }
            }
        }

        impl From<$new> for $old {
            fn from(new: $new) -> Self {
                let LimitsSpec {
                    steps: list,
                    limits,
                    owner: user,
                    team: group,
                } = new.spec;
                let limits = limits.into_iter();
                let map = limits.filter($limits).collect();
                Self {
                    metadata: new.metadata,
                    spec: LimitsSpecBefore {
                        list,
                        map,
                        user,
                        group,
                    },
                }
            }
        }
    };
}

kind!(Limit, LimitBefore, "Limit", |_| true);
kind!(Dropped, DroppedBefore, "Dropped", |(_, limit): &(
    String,
    Option<i32>
)| limit.is_some());
