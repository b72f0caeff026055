use std::borrow::Cow;

use crate::resource::ApiResource;

/// The `apiVersion` and `kind` of an answer or of a part of it. Empty if they are not given.
#[derive(Clone, Copy, Default)]
pub(crate) struct Types<'a> {
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
}

impl<'a> Types<'a> {
    pub(crate) fn new(api_version: Option<&'a str>, kind: Option<&'a str>) -> Self {
        Self {
            api_version: api_version.unwrap_or_default(),
            kind: kind.unwrap_or_default(),
        }
    }

    /// Whether an object of the kind may have these types. With `partial`, it may be a `PartialObjectMetadata`.
    ///
    /// # Errors
    /// A reason that names both kinds.
    pub(crate) fn check_object(self, resource: &ApiResource, partial: bool) -> Result<(), String> {
        if partial && self.is_of_meta("PartialObjectMetadata") {
            return Ok(());
        }
        let is_kind = self.kind.is_empty() || self.kind == resource.kind;
        if is_kind && self.is_version_of(resource) {
            return Ok(());
        }
        Err(self.differs(resource, &resource.kind))
    }

    /// Whether a list of the kind may have these types.
    ///
    /// The author of a `CustomResourceDefinition` chooses the kind of its lists freely. It is known for the groups of
    /// Kubernetes only.
    ///
    /// # Errors
    /// A reason that names both kinds.
    pub(crate) fn check_list(self, resource: &ApiResource) -> Result<(), String> {
        let is_general = self.kind.is_empty()
            || self.kind == "List"
            || self.is_of_meta("PartialObjectMetadataList");
        if is_general {
            return Ok(());
        }
        let group = &resource.group;
        let is_free = group.contains('.') && !group.ends_with(".k8s.io");
        let is_list = match self.kind.strip_suffix("List") {
            Some(of) => is_free || of == resource.kind || self.kind == resource.kind,
            None => false,
        };
        if is_list && self.is_version_of(resource) {
            return Ok(());
        }
        Err(self.differs(resource, &format!("{}List", resource.kind)))
    }

    fn is_version_of(self, resource: &ApiResource) -> bool {
        self.api_version.is_empty() || self.api_version == resource.api_version()
    }

    fn is_of_meta(self, kind: &str) -> bool {
        let is_meta = self.api_version.is_empty() || self.api_version.starts_with("meta.k8s.io/");
        self.kind == kind && is_meta
    }

    fn differs(self, resource: &ApiResource, expected: &str) -> String {
        let version = resource.api_version();
        let found = match (self.api_version, self.kind) {
            ("", kind) => format!("`{}`", shown(kind)),
            (version, "") => format!("an object of `{}`", shown(version)),
            (version, kind) => format!("`{}` of `{}`", shown(kind), shown(version)),
        };
        format!("kind: expected `{expected}` of `{version}`, found {found}")
    }
}

/// A kind, a name or a version that the server sent, as an error shows it: short, and without control characters.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    const MOST: usize = 100;
    if text.len() <= MOST && !text.contains(char::is_control) {
        return text.into();
    }
    text.chars()
        .take(MOST)
        .flat_map(char::escape_debug)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Namespace;

    #[test]
    fn a_list_of_another_kind_is_refused_and_the_usual_forms_are_not() {
        let namespaces = ApiResource::of::<Namespace>();
        let check = |version, kind| Types::new(version, kind).check_list(&namespaces);
        for (version, kind) in [
            (None, None),
            (None, Some("NamespaceList")),
            (Some("v1"), Some("NamespaceList")),
            (Some("v1"), Some("List")),
            (Some("meta.k8s.io/v1"), Some("PartialObjectMetadataList")),
        ] {
            assert_eq!(check(version, kind), Ok(()));
        }
        assert_eq!(
            check(Some("v1"), Some("PodList")).unwrap_err(),
            "kind: expected `NamespaceList` of `v1`, found `PodList` of `v1`"
        );
        assert!(check(Some("v2"), Some("NamespaceList")).is_err());
        assert!(check(Some("v1"), Some("Namespace")).is_err());
    }

    #[test]
    fn a_definition_may_name_its_list_freely() {
        let widgets = ApiResource {
            group: "demo.example.com".into(),
            version: "v1".into(),
            kind: "Widget".into(),
            plural: "widgets".into(),
            namespaced: true,
        };
        let check = |version, kind| Types::new(Some(version), Some(kind)).check_list(&widgets);
        assert_eq!(check("demo.example.com/v1", "WidgetsAndMoreList"), Ok(()));
        assert!(check("v1", "PodList").is_err());
        assert!(check("demo.example.com/v1", "Status").is_err());
    }

    #[test]
    fn a_text_of_the_server_is_shown_short_and_without_control_characters() {
        assert_eq!(shown("a\nb"), "a\\nb");
        assert_eq!(shown(&"x".repeat(1000)).len(), 100);
    }
}
