//! What a metrics server would measure: figures that a test sets for HorizontalPodAutoscalers.

use parking_lot::Mutex;
use serde::Deserialize;

use crate::go::Quantity;

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", tag = "type")]
pub(crate) enum Measured {
    /// What each Pod of a workload uses of a resource; with `container` only that container of it.
    Resource {
        workload: String,
        name: String,
        container: Option<String>,
    },
    /// A metric of each Pod of a workload.
    Pods { workload: String, metric: String },
    /// A metric of another object.
    Object {
        kind: String,
        name: String,
        metric: String,
    },
    /// A metric that belongs to no object.
    External { metric: String },
}

/// The text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a quantity: write for example 250m, 1.5 or 512Mi")]
pub struct InvalidQuantity(String);

/// The figures of a sandbox: what the metrics of its Pods and other objects would be. HorizontalPodAutoscalers follow them, if the
/// [simulator](crate::Builder::simulator) is on.
///
/// A workload is named as in [`Pods::of`](crate::Pods::of): it is any owner of a Pod, or the Pod itself. A figure replaces an
/// earlier one for the same thing. Selectors of metrics make no difference.
///
/// ```
/// # use pilothouse_sandbox::Sandbox;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let sandbox = Sandbox::builder().simulator(true).build()?;
/// // Each Pod of the Deployment `web` uses a quarter of a core.
/// sandbox.figures().resource("web", "cpu", "250m")?;
/// sandbox.figures().external("queue-length", "30")?;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Figures {
    known: Mutex<Vec<(Measured, Quantity)>>,
}

impl Figures {
    /// Sets what each Pod of a workload uses of a resource: `cpu` or `memory`.
    ///
    /// # Errors
    /// `quantity` is not a quantity.
    pub fn resource(
        &self,
        workload: impl Into<String>,
        name: impl Into<String>,
        quantity: &str,
    ) -> Result<(), InvalidQuantity> {
        let measured = Measured::Resource {
            workload: workload.into(),
            name: name.into(),
            container: None,
        };
        self.set(measured, quantity)
    }

    /// Sets what one container of each Pod of a workload uses of a resource.
    ///
    /// # Errors
    /// `quantity` is not a quantity.
    pub fn container_resource(
        &self,
        workload: impl Into<String>,
        container: impl Into<String>,
        name: impl Into<String>,
        quantity: &str,
    ) -> Result<(), InvalidQuantity> {
        let measured = Measured::Resource {
            workload: workload.into(),
            name: name.into(),
            container: Some(container.into()),
        };
        self.set(measured, quantity)
    }

    /// Sets a metric of each Pod of a workload.
    ///
    /// # Errors
    /// `quantity` is not a quantity.
    pub fn pods(
        &self,
        workload: impl Into<String>,
        metric: impl Into<String>,
        quantity: &str,
    ) -> Result<(), InvalidQuantity> {
        let measured = Measured::Pods {
            workload: workload.into(),
            metric: metric.into(),
        };
        self.set(measured, quantity)
    }

    /// Sets a metric of an object, such as the requests of an Ingress.
    ///
    /// # Errors
    /// `quantity` is not a quantity.
    pub fn object(
        &self,
        kind: impl Into<String>,
        name: impl Into<String>,
        metric: impl Into<String>,
        quantity: &str,
    ) -> Result<(), InvalidQuantity> {
        let measured = Measured::Object {
            kind: kind.into(),
            name: name.into(),
            metric: metric.into(),
        };
        self.set(measured, quantity)
    }

    /// Sets a metric that belongs to no object of the cluster, such as the length of a queue.
    ///
    /// # Errors
    /// `quantity` is not a quantity.
    pub fn external(
        &self,
        metric: impl Into<String>,
        quantity: &str,
    ) -> Result<(), InvalidQuantity> {
        let metric = metric.into();
        self.set(Measured::External { metric }, quantity)
    }

    /// Forgets all figures. The metrics are unknown then.
    pub fn clear(&self) {
        self.known.lock().clear();
    }

    pub(crate) fn set(&self, measured: Measured, quantity: &str) -> Result<(), InvalidQuantity> {
        let quantity = Quantity::parse(quantity).ok_or_else(|| InvalidQuantity(quantity.into()))?;
        let mut known = self.known.lock();
        known.retain(|(other, _)| *other != measured);
        known.push((measured, quantity));
        Ok(())
    }

    /// The latest figure, in thousandths, of what `is` selects.
    pub(crate) fn find(&self, is: impl Fn(&Measured) -> bool) -> Option<i128> {
        let known = self.known.lock();
        let found = known.iter().rev().find(|(measured, _)| is(measured));
        found.map(|(_, quantity)| quantity.milli())
    }
}
