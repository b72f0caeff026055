use super::{Admission, Denied, Reads, Rules, Warnings};
use crate::controller::Reconcilable;

/// Changes an object before it is stored: a mutating admission webhook.
///
/// A fixed default needs no webhook: write it into the schema, with `#[serde(default = "..")]`. A webhook is for defaults that
/// depend on other fields, other objects, or who asks.
///
/// ```
/// use pilothouse::{k8s::api::core::v1::Pod, webhook::{Admission, Denied, Mutate, Warnings}};
///
/// /// Labels each Pod with the user who created it.
/// struct Creator;
///
/// impl Mutate for Creator {
///     type Resource = Pod;
///
///     async fn mutate(&self, pod: &mut Pod, cx: &Admission) -> Result<Warnings, Denied> {
///         let labels = pod.metadata.labels.get_or_insert_default();
///         let user = cx.user().username.clone().unwrap_or_default();
///         labels.insert("creator".into(), user.replace(':', "."));
///         Ok(Warnings::none())
///     }
/// }
/// ```
pub trait Mutate: Send + Sync + 'static {
    /// The kind of the objects, as in [`Validate`](super::Validate).
    type Resource: Reconcilable;

    /// Which requests the webhook gets. The default: creation and update of the object.
    fn rules(&self, rules: Rules) -> Rules {
        rules
    }

    /// The kinds that the webhook reads from caches, with [`Admission::get`] and [`Admission::lister`]. The default: none.
    fn reads(&self, reads: Reads) -> Reads {
        reads
    }

    /// Changes the object in place, or denies the request. The framework compares the object before and after, and sends only the
    /// difference, so fields that the type does not know stay as they are.
    ///
    /// It has to be idempotent: the API server may call it again for the same object.
    fn mutate(
        &self,
        object: &mut Self::Resource,
        cx: &Admission,
    ) -> impl Future<Output = Result<Warnings, Denied>> + Send;
}
