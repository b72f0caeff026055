use std::sync::LazyLock;

use super::compare::Comparison;
use super::field_set::FieldSet;
use super::options::ApplyOptions;
use super::path_element::PathElement;

/// The fields that a write to this endpoint can own.
pub(super) enum Endpoint {
    /// All fields.
    Everything,
    /// All fields but the status, which a write to the object itself resets.
    WithoutStatus,
    /// Only the status.
    OnlyStatus,
    /// All fields but these: `spec`, `status.conditions`.
    Without(&'static [&'static str]),
}

impl Endpoint {
    pub(super) fn of(options: &ApplyOptions) -> Self {
        match options.subresource.as_deref() {
            _ if !options.reset.is_empty() => Self::Without(options.reset),
            Some("status") => Self::OnlyStatus,
            None if options.has_status => Self::WithoutStatus,
            _ => Self::Everything,
        }
    }

    pub(super) fn filter(&self, set: &FieldSet) -> FieldSet {
        static STATUS: LazyLock<PathElement> =
            LazyLock::new(|| PathElement::Field("status".into()));
        match self {
            Self::Everything => set.clone(),
            Self::WithoutStatus => {
                let mut status = FieldSet::new();
                status.insert_member(STATUS.clone());
                set.recursive_difference(&status)
            }
            Self::Without(fields) => {
                let mut reset = FieldSet::new();
                for path in *fields {
                    let steps = path.split('.').map(|name| PathElement::Field(name.into()));
                    reset.insert(&steps.collect::<Vec<_>>());
                }
                set.recursive_difference(&reset)
            }
            Self::OnlyStatus => {
                let mut only = FieldSet::new();
                if set.is_member(&STATUS) {
                    only.insert_member(STATUS.clone());
                }
                if let Some(below) = set.child(&STATUS) {
                    only.insert_child(STATUS.clone(), below.clone());
                }
                only
            }
        }
    }

    pub(super) fn filter_all(&self, comparison: Comparison) -> Comparison {
        comparison.map(|set| self.filter(set))
    }
}

/// The set without the fields that identify an object or that only the server sets.
pub(super) fn without_identity(set: &FieldSet) -> FieldSet {
    static IDENTITY: LazyLock<FieldSet> = LazyLock::new(|| {
        let field = |name: &str| PathElement::Field(name.to_owned());
        let mut set = FieldSet::new();
        for name in ["apiVersion", "kind", "metadata"] {
            set.insert(&[field(name)]);
        }
        for name in [
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        ] {
            set.insert(&[field("metadata"), field(name)]);
        }
        set
    });
    set.difference(&IDENTITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_does_not_own_the_fields_that_its_path_resets() {
        let path = |text: &str| -> Vec<PathElement> {
            let names = text.split('.');
            names.map(|name| PathElement::Field(name.into())).collect()
        };
        let mut set = FieldSet::new();
        for field in ["spec.a", "status.conditions", "status.phase", "data"] {
            set.insert(&path(field));
        }
        let left = Endpoint::Without(&["spec", "status.conditions"]).filter(&set);
        assert_eq!(left.paths(), [path("data"), path("status.phase")]);
    }
}
