use std::{fmt, marker::PhantomData};

use crate::{
    crd::CustomResource,
    operator::{OperatorError, OwnDefinition, check_definitions},
};

/// Checks the definition of a kind, with all its versions, as an API server and `kubectl apply` do. [`DefinitionCheck::check`] says what has to
/// hold.
///
/// Write such a test for each kind: a mistyped rule then fails there and not in a cluster.
///
/// ```
/// use pilothouse::{Resource, Schema, resource::ObjectMeta, testing};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Resource, Clone, Debug)]
/// #[resource(group = "demo.pilothouse.dev", version = "v1", namespaced)]
/// struct Page {
///     metadata: ObjectMeta,
///     spec: PageSpec,
/// }
///
/// #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
/// struct PageSpec {
///     #[schema(rule("self.size() > 0", "must not be empty"))]
///     title: String,
/// }
///
/// testing::definition::<Page>().check()?;
/// # Ok::<(), testing::RefusedDefinition>(())
/// ```
pub fn definition<K: CustomResource>() -> DefinitionCheck<K> {
    DefinitionCheck {
        server_side: false,
        kind: PhantomData,
    }
}

/// The check of the definition of a kind: see [`definition`].
#[derive(Clone, Debug)]
#[must_use = "`check` does the work"]
pub struct DefinitionCheck<K> {
    server_side: bool,
    kind: PhantomData<fn() -> K>,
}

impl<K: CustomResource> DefinitionCheck<K> {
    /// Allows a definition that is too large for the annotation of `kubectl apply`, because you install it in another way: with
    /// `kubectl apply --server-side`, with the command `crd install`, or with the operator itself.
    pub fn server_side(mut self) -> Self {
        self.server_side = true;
        self
    }

    /// Checks the definition:
    ///
    /// * the types have a structural schema, and an API server in this process accepts it: lists with their keys, defaults, columns, selectable
    ///   fields;
    /// * each CEL rule compiles, for the types of the fields that it reads;
    /// * no rule, and not all together, can cost more than a server allows, by the estimate that a server makes;
    /// * the definition fits into etcd, and into the annotation of `kubectl apply`.
    ///
    /// # Errors
    /// [`RefusedDefinition`] names the Rust type, the field and the rule with its place in the source, and what to do. If a rule costs too much,
    /// it names the bounds that are missing.
    pub fn check(self) -> Result<(), RefusedDefinition> {
        let problems = match OwnDefinition::of::<K>() {
            Err(error) => vec![error.to_string()],
            Ok(own) => {
                let is_too_large = own.apply_note().filter(|_| !self.server_side);
                let too_large = is_too_large.map(|note| {
                    format!("{note}. If you install it without that annotation, write `definition().server_side()`")
                });
                let refused = match check_definitions(&[own]) {
                    Ok(_) => Vec::new(),
                    Err(OperatorError::Refused(problems)) => problems,
                    Err(error) => vec![error.to_string()],
                };
                refused.into_iter().chain(too_large).collect()
            }
        };
        match problems.is_empty() {
            true => Ok(()),
            false => Err(RefusedDefinition {
                kind: K::KIND.to_owned(),
                problems,
            }),
        }
    }
}

/// Why an API server or `kubectl apply` refuses the definition of a kind. The text has a line for each problem.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the definition of {kind} is refused:\n  {}", .problems.join("\n  "))]
pub struct RefusedDefinition {
    kind: String,
    problems: Vec<String>,
}

/// The text, because tests unwrap the error.
impl fmt::Debug for RefusedDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::{Resource, Schema, resource::ObjectMeta};

    /// Declares a kind `Page` whose spec has this field.
    macro_rules! page {
        ($module:ident, #[$($attribute:tt)*] $field:ident: $ty:ty) => {
            mod $module {
                use super::*;

                #[derive(Resource, Clone, Debug)]
                #[resource(crate = "crate", group = "demo.example.com", version = "v1", namespaced)]
                pub(super) struct Page {
                    metadata: ObjectMeta,
                    spec: PageSpec,
                }

                #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
                #[schema(crate = "crate")]
                struct PageSpec {
                    #[$($attribute)*]
                    $field: $ty,
                }
            }
        };
    }

    page!(good, #[schema(rule("self.size() > 0", "must not be empty"))] title: String);
    page!(mistyped, #[schema(rule("self.sise() > 0", "must not be empty"))] title: String);
    page!(costly, #[schema(rule("self.all(a, self.all(b, a == b))", "must be equal"))] tags: Vec<String>);
    page!(keyless, #[schema(list_type = "map", list_map_keys("id"))] tags: Vec<Tag>);
    page!(shapeless, #[serde(default)] tags: Vec<Shown>);

    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    #[schema(crate = "crate")]
    struct Tag {
        name: String,
    }

    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    #[schema(crate = "crate")]
    struct Shown {
        #[schema(column = "Name")]
        name: String,
    }

    /// Types whose names alone make a definition too large for `kubectl apply`.
    mod large {
        use super::*;

        macro_rules! large {
            ($inner:ident, $($field:ident)+) => {
                #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
                #[schema(crate = "crate")]
                pub(super) struct Large { $($field: $inner),+ }
            };
        }

        #[derive(Resource, Clone, Debug)]
        #[resource(
            crate = "crate",
            group = "demo.example.com",
            version = "v1",
            namespaced
        )]
        pub(super) struct Page {
            metadata: ObjectMeta,
            spec: five::Large,
        }

        mod one {
            use super::*;
            large!(Tag, first_of_all second_of_all third_of_all fourth_of_all fifth_of_all sixth_of_all);
        }
        mod two {
            use super::{one::Large as Inner, *};
            large!(Inner, first_of_all second_of_all third_of_all fourth_of_all fifth_of_all sixth_of_all);
        }
        mod three {
            use super::{two::Large as Inner, *};
            large!(Inner, first_of_all second_of_all third_of_all fourth_of_all fifth_of_all sixth_of_all);
        }
        mod four {
            use super::{three::Large as Inner, *};
            large!(Inner, first_of_all second_of_all third_of_all fourth_of_all fifth_of_all sixth_of_all);
        }
        mod five {
            use super::{four::Large as Inner, *};
            large!(Inner, first_of_all second_of_all);
        }
    }

    /// The text of the error, whose places begin with this module.
    fn problem<K: CustomResource>(check: DefinitionCheck<K>) -> String {
        let text = check.check().unwrap_err().to_string();
        let text = text.replace(&format!("{}::", module_path!()), "");
        text.strip_prefix("the definition of Page is refused:\n  ")
            .unwrap()
            .to_owned()
    }

    #[test]
    fn a_good_definition_passes() {
        definition::<good::Page>().check().unwrap();
    }

    /// A test of an async function may check it, too.
    #[tokio::test]
    async fn a_definition_is_checked_in_a_runtime() {
        definition::<good::Page>().check().unwrap();
    }

    #[test]
    fn a_mistyped_rule_is_named_with_its_place() {
        let problem = problem(definition::<mistyped::Page>());
        let line = include_str!("definition.rs").lines();
        let line = line.take_while(|line| !line.contains("sise() > 0")).count() + 1;
        let place = format!(
            "{}:{line}: mistyped::Page: spec.title: x-kubernetes-validations[0].rule: ",
            file!()
        );
        assert!(problem.starts_with(&place), "{problem}");
        assert!(
            problem.contains("undeclared reference to 'sise'"),
            "{problem}"
        );
    }

    #[test]
    fn a_rule_that_may_cost_too_much_is_named_with_the_bounds_that_it_needs() {
        let problem = problem(definition::<costly::Page>());
        assert!(
            problem.contains("costly::Page: spec.tags: x-kubernetes-validations[0].rule: "),
            "{problem}"
        );
        let (rule, total) = problem.split_once('\n').unwrap();
        let expected = "estimated rule cost exceeds budget by factor of more than 100x: `self.all(a, self.all(b, a == b))`: add `max_items` to \
            spec.tags, `max_length` to spec.tags[], or simplify the expression";
        assert!(rule.ends_with(expected), "{problem}");
        assert!(
            total.contains("estimated rule cost total for entire OpenAPIv3 schema"),
            "{problem}"
        );
        assert!(!total.contains('\n'), "{problem}");
    }

    #[test]
    fn a_list_with_a_key_that_no_item_has_is_named() {
        let problem = problem(definition::<keyless::Page>());
        assert!(problem.starts_with("keyless::Page: spec.tags"), "{problem}");
        assert!(problem.contains("x-kubernetes-list-map-keys"), "{problem}");
    }

    #[test]
    fn types_without_a_structural_schema_are_named() {
        let problem = problem(definition::<shapeless::Page>());
        assert!(
            problem.starts_with("Page: spec.tags[].name: a column shows one value"),
            "{problem}"
        );
    }

    #[test]
    fn a_definition_that_kubectl_apply_refuses_passes_only_if_another_way_installs_it() {
        let problem = problem(definition::<large::Page>());
        assert!(
            problem.starts_with("pages.demo.example.com has "),
            "{problem}"
        );
        let expected =
            "If you install it without that annotation, write `definition().server_side()`";
        assert!(problem.ends_with(expected), "{problem}");
        definition::<large::Page>().server_side().check().unwrap();
    }
}
