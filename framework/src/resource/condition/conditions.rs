use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::Value;

use super::{ConditionError, NewCondition};
use crate::clock::in_seconds;

/// Reads and changes the conditions of a status: a `Vec` of `metav1.Condition`.
///
/// It follows apimachinery's `meta.SetStatusCondition`: each type occurs once, the order is kept, and
/// `lastTransitionTime` changes only when the condition's status changes.
///
/// ```
/// use pilothouse::k8s::{apimachinery::pkg::apis::meta::v1::Condition, jiff::Timestamp};
/// use pilothouse::resource::{Conditions, NewCondition};
///
/// # fn example(now: Timestamp) -> Result<(), pilothouse::resource::ConditionError> {
/// let mut conditions: Vec<Condition> = Vec::new();
/// // In a reconcile, `now` is `cx.now()`.
/// conditions.set(NewCondition::is_true("Ready", "PodsReady").message("3 of 3 pods are ready"), now)?;
/// assert!(conditions.is_true("Ready"));
/// # Ok(()) }
/// # example(Timestamp::UNIX_EPOCH).unwrap();
/// ```
pub trait Conditions {
    /// Sets the condition of this type, and returns whether anything changed. If the status of the condition changes, `now`
    /// becomes its `lastTransitionTime`, in whole seconds. In a reconcile pass
    /// [`cx.now()`](crate::controller::Context::now), so that a test can choose the time.
    ///
    /// # Errors
    ///
    /// Returns a [`ConditionError`] and changes nothing if the API server would refuse the type, the reason or the message.
    fn set(&mut self, condition: NewCondition, now: Timestamp) -> Result<bool, ConditionError>;

    /// Removes the condition of this type, and returns whether there was one.
    fn unset(&mut self, kind: &str) -> bool;

    /// Returns the condition of this type, or `None` if the list does not have it.
    fn of_type(&self, kind: &str) -> Option<&Condition>;

    /// Whether the condition of this type exists with the status `True`.
    fn is_true(&self, kind: &str) -> bool {
        self.of_type(kind).is_some_and(|one| one.status == "True")
    }

    /// Whether the condition of this type exists with the status `False`. Returns `false` for `Unknown`.
    fn is_false(&self, kind: &str) -> bool {
        self.of_type(kind).is_some_and(|one| one.status == "False")
    }
}

impl Conditions for Vec<Condition> {
    fn set(&mut self, condition: NewCondition, now: Timestamp) -> Result<bool, ConditionError> {
        condition.check()?;
        let present = self.iter().position(|one| one.type_ == condition.kind);
        let since = match present.and_then(|place| self.get(place)) {
            Some(one) if one.status == condition.status => one.last_transition_time.clone(),
            _ => Time(in_seconds(now)),
        };
        let new = Condition {
            type_: condition.kind,
            status: condition.status.to_owned(),
            reason: condition.reason,
            message: condition.message,
            observed_generation: condition.observed_generation,
            last_transition_time: since,
        };
        match present.and_then(|place| self.get_mut(place)) {
            Some(place) if *place == new => Ok(false),
            Some(place) => {
                *place = new;
                Ok(true)
            }
            None => {
                self.push(new);
                Ok(true)
            }
        }
    }

    fn unset(&mut self, kind: &str) -> bool {
        let before = self.len();
        self.retain(|one| one.type_ != kind);
        self.len() != before
    }

    fn of_type(&self, kind: &str) -> Option<&Condition> {
        self.iter().find(|one| one.type_ == kind)
    }
}

/// Copies the transition times of `present` into each condition of `status` that has the same type and status there.
///
/// After that, a status that the user's code built anew with the same conditions is equal to the present one.
pub(crate) fn keep_transitions(status: &mut Value, present: &Value) {
    const TIME: &str = "lastTransitionTime";
    let Some(present) = present.get("conditions").and_then(Value::as_array) else {
        return;
    };
    let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        let same = present.iter().find(|one| {
            one.get("type").is_some()
                && one.get("type") == condition.get("type")
                && one.get("status") == condition.get("status")
        });
        if let (Some(time), Some(place)) =
            (same.and_then(|one| one.get(TIME)), condition.get_mut(TIME))
        {
            *place = time.clone();
        }
    }
}
