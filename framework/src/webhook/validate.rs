use super::{Admission, Change, Denied, Reads, Rules, Warnings};
use crate::controller::Reconcilable;

/// Decides whether a change of an object is allowed: a validating admission webhook.
///
/// A rule about one object, and its change, needs no webhook if CEL can say it: write it into the schema, with
/// `#[schema(rule = "..")]`. Then it also holds while the operator does not run. A webhook is for what needs other objects, who
/// asks, or code.
///
/// ```
/// use pilothouse::{k8s::api::core::v1::Pod, webhook::{Admission, Change, Denied, Validate, Warnings}};
///
/// /// Refuses Pods without an owner label.
/// struct Owned;
///
/// impl Validate for Owned {
///     type Resource = Pod;
///
///     async fn validate(&self, change: &Change<Pod>, _: &Admission) -> Result<Warnings, Denied> {
///         let labels = change.new_object().and_then(|pod| pod.metadata.labels.as_ref());
///         match labels.is_some_and(|labels| labels.contains_key("owner")) {
///             true => Ok(Warnings::none()),
///             false => Err(Denied::invalid("metadata.labels", "needs the label `owner`")),
///         }
///     }
/// }
/// ```
pub trait Validate: Send + Sync + 'static {
    /// The kind of the objects. [`DynamicObject`](crate::resource::DynamicObject) is for a kind known only at run time, and
    /// [`PartialObject`](crate::resource::PartialObject) if the metadata is enough.
    type Resource: Reconcilable;

    /// Which requests the webhook gets. The default: creation and update of the object.
    fn rules(&self, rules: Rules) -> Rules {
        rules
    }

    /// The kinds that the webhook reads from caches, with [`Admission::get`] and [`Admission::lister`]. The default: none.
    fn reads(&self, reads: Reads) -> Reads {
        reads
    }

    /// Allows the change, with warnings for the user, or denies it.
    ///
    /// The API server may call it more than once for one request, and the request may still fail after it. Objects reach it
    /// after all mutations. A panic or a call beyond the timeout fails the request, unless failures are
    /// [ignored](Rules::ignore_failures).
    fn validate(
        &self,
        change: &Change<Self::Resource>,
        cx: &Admission,
    ) -> impl Future<Output = Result<Warnings, Denied>> + Send;
}
