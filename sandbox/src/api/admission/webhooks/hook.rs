use std::sync::Arc;

use serde_json::Value;

use crate::api::admission::attributes::Attributes;
use crate::api::admission::configurations::Configuration;
use crate::api::admission::expressions::{Scope, conditions_hold};
use crate::api::admission::{equivalent, rules};
use crate::core::Core;
use crate::error::ApiError;
use crate::meta;
use crate::registry::ServedKind;

/// One webhook of a configuration.
#[derive(Clone)]
pub(super) struct Hook {
    configuration: Arc<Configuration>,
    index: usize,
}

/// A webhook that wants a request, and the kind in which it gets the object.
pub(super) struct Invocation {
    pub(super) hook: Hook,
    pub(super) kind: Arc<ServedKind>,
}

impl Hook {
    /// The webhooks of these configurations, in the order in which they are asked.
    pub(super) fn all(configurations: &[Arc<Configuration>]) -> Vec<Self> {
        let hooks = configurations.iter().flat_map(|configuration| {
            let webhooks = configuration.object["webhooks"].as_array();
            let count = webhooks.map_or(0, Vec::len);
            (0..count).map(move |index| Self {
                configuration: configuration.clone(),
                index,
            })
        });
        hooks.collect()
    }

    pub(super) fn spec(&self) -> &Value {
        &self.configuration.object["webhooks"][self.index]
    }

    pub(super) fn name(&self) -> &str {
        self.spec()["name"].as_str().unwrap_or_default()
    }

    /// The name of the configuration.
    pub(super) fn configuration(&self) -> &str {
        meta::name(&self.configuration.object)
    }

    /// What tells it from all others.
    pub(super) fn id(&self) -> String {
        format!("{}/{}", self.configuration(), self.name())
    }

    /// Whether a failed call admits the request.
    pub(super) fn ignores_failures(&self) -> bool {
        self.spec()["failurePolicy"] == "Ignore"
    }

    /// Whether this webhook is to be asked.
    ///
    /// # Errors
    /// 404 if the namespace does not exist, 403 if a match condition cannot be evaluated.
    pub(super) async fn invocation(
        &self,
        core: &Core,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<Option<Invocation>, ApiError> {
        let spec = self.spec();
        let selected = rules::selected(core, attributes, spec, object, old);
        if matches!(selected, Ok(false)) {
            return Ok(None);
        }
        let of_hook = spec["rules"].as_array().into_iter().flatten();
        let Some(kind) = rules::matched(core, attributes, of_hook, &spec["matchPolicy"]) else {
            return Ok(None);
        };
        selected?;
        if spec["matchConditions"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
        {
            let seen = equivalent(core, attributes, &kind, object).await?;
            let seen_old = equivalent(core, attributes, &kind, old).await?;
            let mut scope = Scope::new(
                core,
                attributes,
                &kind,
                seen.as_ref(),
                seen_old.as_ref(),
                self.configuration.expressions(),
            );
            let holds = conditions_hold(spec, &mut scope).map_err(|why| {
                ApiError::forbidden(&attributes.target.resource(), attributes.name, &why)
            })?;
            if !holds {
                return Ok(None);
            }
        }
        Ok(Some(Invocation {
            hook: self.clone(),
            kind,
        }))
    }
}
