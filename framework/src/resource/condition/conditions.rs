use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::{ConditionError, NewCondition};

/// What is done with the conditions of a status, a `Vec` of `metav1.Condition`.
///
/// As apimachinery's `meta.SetStatusCondition`: there is one condition of each type, the order is kept, and
/// `lastTransitionTime` changes when the status does and not otherwise.
///
/// ```
/// use pilothouse::{k8s::apimachinery::pkg::apis::meta::v1::Condition, resource::{Conditions, NewCondition}};
///
/// # fn main() -> Result<(), pilothouse::resource::ConditionError> {
/// let mut conditions: Vec<Condition> = Vec::new();
/// conditions.set(NewCondition::is_true("Ready", "PodsReady").message("3 of 3 pods are ready"))?;
/// assert!(conditions.is_true("Ready"));
/// # Ok(()) }
/// ```
pub trait Conditions {
    /// Makes the condition of that type be as it says, and tells whether anything changed.
    ///
    /// # Errors
    /// Type, reason or message are not what the API takes; nothing was changed then.
    fn set(&mut self, condition: NewCondition) -> Result<bool, ConditionError>;

    /// Removes the condition of that type, and tells whether there was one.
    fn unset(&mut self, kind: &str) -> bool;

    /// The condition of that type.
    fn of_type(&self, kind: &str) -> Option<&Condition>;

    /// Whether the condition of that type is there and true.
    fn is_true(&self, kind: &str) -> bool {
        self.of_type(kind).is_some_and(|one| one.status == "True")
    }

    /// Whether the condition of that type is there and false: not when it is unknown.
    fn is_false(&self, kind: &str) -> bool {
        self.of_type(kind).is_some_and(|one| one.status == "False")
    }
}

impl Conditions for Vec<Condition> {
    fn set(&mut self, condition: NewCondition) -> Result<bool, ConditionError> {
        condition.check()?;
        let present = self.iter().position(|one| one.type_ == condition.kind);
        let since = match present.and_then(|place| self.get(place)) {
            Some(one) if one.status == condition.status => one.last_transition_time.clone(),
            _ => now(condition.at),
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

/// In whole seconds, as the API keeps times.
fn now(at: Option<Timestamp>) -> Time {
    let at = at.unwrap_or_else(Timestamp::now);
    Time(Timestamp::from_second(at.as_second()).unwrap_or(at))
}
