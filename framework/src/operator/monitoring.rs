use super::{Operator, OperatorError, printed};
use crate::manifests::{Installation, dashboard, prometheus_rule, rules};

/// What `alerts` prints.
#[derive(Debug, PartialEq)]
pub(super) enum AlertsFormat {
    /// A rule file of Prometheus.
    RuleFile,
    /// A PrometheusRule in this namespace.
    PrometheusRule { namespace: String },
}

impl Operator {
    /// The output of the command `alerts`.
    pub(super) fn alerts_as_yaml(&self, format: AlertsFormat) -> Result<String, OperatorError> {
        let installation = Installation::new(&self.name)?;
        let object = match format {
            AlertsFormat::RuleFile => Ok(rules(&installation)),
            AlertsFormat::PrometheusRule { namespace } => {
                let installation = installation.in_namespace(namespace);
                serde_json::to_value(prometheus_rule(&installation))
            }
        };
        printed::yaml(object.map(|object| vec![object]))
    }

    /// The output of the command `dashboard`.
    pub(super) fn dashboard_as_json(&self) -> Result<String, OperatorError> {
        let dashboard = dashboard(&Installation::new(&self.name)?);
        Ok(format!("{dashboard:#}\n"))
    }
}
