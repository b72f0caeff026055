use prometheus::{Error, core::Collector};

use super::Metrics;

/// Why a metric of the program's own cannot be registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetricError {
    /// The name is one of the framework's.
    #[error(
        "the metric `{name}` cannot be registered: the framework has that name: choose another, such as `website_…` for an operator `website`"
    )]
    #[non_exhaustive]
    Reserved {
        /// The name.
        name: String,
    },
    /// The program has registered a metric of that name.
    #[error(
        "the metric `{name}` cannot be registered: the program has registered one of that name: register it once and clone it, or give it another \
         name ({source})"
    )]
    #[non_exhaustive]
    Twice {
        /// The name.
        name: String,
        /// The error of the registry.
        source: Error,
    },
}

/// How the names of present and later metrics of the framework begin.
const RESERVED: [&str; 2] = ["pilothouse_", "controller_runtime_"];

impl Metrics {
    /// Registers a metric of the program's own, and returns it: a counter, a gauge, a histogram, or a family of them. `/metrics`
    /// shows it beside the framework's. Its clones count together.
    ///
    /// ```
    /// use pilothouse::metrics::{Metrics, prometheus::{IntCounterVec, Opts}};
    ///
    /// let metrics = Metrics::new();
    /// let pages = IntCounterVec::new(Opts::new("website_pages_total", "Pages by result."), &["result"])?;
    /// let pages = metrics.register(pages)?;
    /// pages.with_label_values(&["published"]).inc();
    /// assert_eq!(metrics.value("website_pages_total", &[("result", "published")]), Some(1.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MetricError::Reserved`] if the framework has the name, and [`MetricError::Twice`] if the program has registered it
    /// already. Names that begin with `pilothouse_` or `controller_runtime_` are the framework's.
    pub fn register<M: Collector + Clone + 'static>(&self, metric: M) -> Result<M, MetricError> {
        let names = || metric.desc().into_iter().map(|desc| &desc.fq_name);
        let reserved = names().find(|name| RESERVED.iter().any(|start| name.starts_with(start)));
        if let Some(name) = reserved {
            let name = name.clone();
            return Err(MetricError::Reserved { name });
        }
        let Err(source) = self.registry().register(Box::new(metric.clone())) else {
            return Ok(metric);
        };
        let name = names().next().cloned().unwrap_or_default();
        // A registry with only the framework's metrics tells whose name it is.
        let framework = Self::new();
        match framework.registry().register(Box::new(metric.clone())) {
            Ok(()) => Err(MetricError::Twice { name, source }),
            Err(_) => Err(MetricError::Reserved { name }),
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus::{IntCounter, IntGauge};

    use super::*;

    fn register(metrics: &Metrics, name: &str) -> Result<(), String> {
        let counter = IntCounter::new(name, "Help.").unwrap();
        let registered = metrics.register(counter);
        registered.map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn a_metric_of_the_framework_cannot_be_registered() {
        let metrics = Metrics::new();
        for name in [
            "workqueue_depth",
            "rest_client_requests_total",
            "controller_runtime_mine_total",
            "pilothouse_mine_total",
        ] {
            let error = register(&metrics, name).unwrap_err();
            let expected =
                format!("the metric `{name}` cannot be registered: the framework has that name: ");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn two_metrics_of_the_program_cannot_have_one_name() {
        let metrics = Metrics::new();
        assert_eq!(register(&metrics, "website_pages_total"), Ok(()));
        let again = register(&metrics, "website_pages_total").unwrap_err();
        let gauge = IntGauge::new("website_pages_total", "Other help.").unwrap();
        let other = metrics.register(gauge).unwrap_err().to_string();
        for error in [again, other] {
            assert!(error.contains("`website_pages_total`"), "{error}");
            assert!(error.contains("register it once and clone it"), "{error}");
        }
        // The first one is still there, and another operator has its own names.
        assert!(metrics.encode().contains("website_pages_total 0\n"));
        assert_eq!(register(&Metrics::new(), "website_pages_total"), Ok(()));
    }
}
