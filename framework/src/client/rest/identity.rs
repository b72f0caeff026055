use serde::Deserialize;

use super::Call;
use crate::{
    client::{
        Error,
        codec::{Codec, Encoded, with_codec},
        decode::{Types, decode_object, shown},
    },
    resource::Object,
};

/// The parts of an object that say which object it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity {
    #[serde(default)]
    api_version: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    metadata: Option<Names>,
}

#[derive(Default, Deserialize)]
struct Names {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    namespace: Option<String>,
}

/// Whether an answer is about the object of the call. A server or a proxy that mixes up answers must not lead a caller
/// to a wrong decision, such as to overwrite or to delete an object.
impl Call<'_> {
    /// Whether the answer is the object of the call. The kind and the namespace may be missing, the name may not. An
    /// answer of a subresource other than `status` may be anything.
    ///
    /// # Errors
    /// [`ErrorKind::Decode`](crate::client::ErrorKind::Decode) with what was asked for and what came.
    pub(crate) fn check_object(&self, answer: &Encoded) -> Result<(), Error> {
        if !self.has_object_of_kind() {
            return Ok(());
        }
        let identity = decode_object(answer, true);
        let checked = identity.and_then(|identity: Identity| {
            let (api_version, kind) = (identity.api_version.as_deref(), identity.kind.as_deref());
            let names = identity.metadata.unwrap_or_default();
            let names = (names.name.as_deref(), names.namespace.as_deref());
            self.compare(Types::new(api_version, kind), names)
        });
        checked.map_err(|reason| self.undecodable(reason))
    }

    /// As [`check_object`](Self::check_object), for an answer that was decoded as `object`. So its bytes need not be read
    /// again, if its types stand at their beginning.
    pub(crate) fn check_decoded(
        &self,
        answer: &Encoded,
        object: &impl Object,
    ) -> Result<(), Error> {
        match with_codec!(answer.encoding, codec => codec.types_of(&answer.bytes)) {
            Some([api_version, kind]) if self.has_object_of_kind() => {
                let names = (Some(object.name()), object.namespace());
                let checked = self.compare(Types { api_version, kind }, names);
                checked.map_err(|reason| self.undecodable(reason))
            }
            _ => self.check_object(answer),
        }
    }

    fn compare(
        &self,
        types: Types<'_>,
        (name, namespace): (Option<&str>, Option<&str>),
    ) -> Result<(), String> {
        // Some kinds are answered with another one when they are created, as a request for a project with the project.
        if self.verb != "create" || types.kind == "Status" {
            types.check_object(self.resource, self.metadata_only)?;
        }
        // OpenShift answers `users/~` with the user of the request. No object has this name.
        if let Some(expected) = self.name.filter(|name| *name != "~") {
            match name.filter(|name| !name.is_empty()) {
                Some(name) if name == expected => {}
                Some(name) => {
                    let name = shown(name);
                    return Err(format!(
                        "metadata.name: expected `{expected}`, found `{name}`"
                    ));
                }
                None => return Err(format!("metadata.name: expected `{expected}`, found none")),
            }
        }
        match namespace.filter(|namespace| !namespace.is_empty()) {
            Some(namespace) if self.namespace != Some(namespace) => {
                Err(self.other_namespace(namespace))
            }
            _ => Ok(()),
        }
    }

    fn other_namespace(&self, found: &str) -> String {
        let expected = match self.namespace {
            Some(expected) => format!("`{expected}`"),
            None => "none".to_owned(),
        };
        let found = shown(found);
        format!("metadata.namespace: expected {expected}, found `{found}`")
    }

    /// Whether a list or a watch may contain an object of this namespace, which may be missing. A caller that writes to an
    /// object's namespace must not be led into another one.
    ///
    /// # Errors
    /// As for [`check_object`](Self::check_object).
    pub(crate) fn check_namespace(&self, found: Option<&str>) -> Result<(), Error> {
        let is_all = self.resource.namespaced && self.namespace.is_none();
        match found.filter(|found| !found.is_empty()) {
            Some(found) if !is_all && self.namespace != Some(found) => {
                Err(self.undecodable(self.other_namespace(found)))
            }
            _ => Ok(()),
        }
    }

    /// A 404 means that the object of the call is gone only if it is about this object. Turns another one into an error
    /// that is not [`Error::is_not_found`]. A 404 that names nothing stays [`Error::is_not_served`].
    pub(crate) fn check_absence(&self, error: Error) -> Error {
        if !matches!(self.verb, "get" | "delete") || self.subresource.is_some() {
            return error;
        }
        let (Some(name), Some(status)) = (self.name, error.status()) else {
            return error;
        };
        if !status.is_not_found() || status.is_not_served() {
            return error;
        }
        let Some(details) = &status.details else {
            return error;
        };
        let resource = self.resource;
        // Some servers write the namespace before the name.
        let is_name = details.name == name
            || details
                .name
                .split_once('/')
                .is_some_and(|(namespace, last)| Some(namespace) == self.namespace && last == name);
        let is_kind = details.kind.is_empty()
            || details.kind.eq_ignore_ascii_case(&resource.plural)
            || details.kind.eq_ignore_ascii_case(&resource.kind);
        let is_group = details.group.is_empty() || details.group == resource.group;
        if status.reason == "NotFound" && is_name && is_kind && is_group {
            return error;
        }
        self.undecodable(format!(
            "a 404 about {} `{}` with the reason `{}` does not say that {} `{name}` is gone",
            shown(&match &*details.group {
                "" => details.kind.clone(),
                group => format!("{}.{group}", details.kind),
            }),
            shown(&details.name),
            shown(&status.reason),
            resource.qualified_plural(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{ApiResource, PartialObject, Status};
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    fn call(resource: &ApiResource) -> Call<'_> {
        Call {
            verb: "get",
            resource,
            namespace: Some("default"),
            name: Some("web"),
            subresource: None,
            metadata_only: true,
            all_fields: false,
        }
    }

    #[test]
    fn an_answer_about_another_object_is_an_error_that_names_both() {
        let maps = ApiResource::of::<ConfigMap>();
        let table = [
            (
                json!({"apiVersion": "v1", "kind": "Status", "metadata": {}}),
                "kind: expected `ConfigMap` of `v1`, found `Status` of `v1`",
            ),
            (json!({}), "metadata.name: expected `web`, found none"),
            (
                json!({"metadata": {"name": "other"}}),
                "metadata.name: expected `web`, found `other`",
            ),
            (
                json!({"metadata": {"name": "web", "namespace": "kube-system"}}),
                "metadata.namespace: expected `default`, found `kube-system`",
            ),
            (
                json!({"apiVersion": "v2", "metadata": {"name": "web"}}),
                "kind: expected `ConfigMap` of `v1`, found an object of `v2`",
            ),
            (
                json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web"}}),
                "kind: expected `ConfigMap` of `v1`, found `Secret` of `v1`",
            ),
            (
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}}),
                "metadata.name: expected `web`, found `other`",
            ),
            (
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "kube-system"}}),
                "metadata.namespace: expected `default`, found `kube-system`",
            ),
        ];
        for (answer, reason) in table {
            let object: PartialObject = serde_json::from_value(answer.clone()).unwrap();
            let answer = Encoded::json(answer.to_string());
            let error = call(&maps).check_object(&answer).unwrap_err();
            let of_decoded = call(&maps).check_decoded(&answer, &object).unwrap_err();
            assert_eq!(of_decoded.to_string(), error.to_string());
            assert_eq!(
                error.to_string(),
                format!("get ConfigMap default/web: the answer cannot be decoded: {reason}")
            );
        }
    }

    #[test]
    fn an_answer_about_the_object_is_accepted_in_each_usual_form() {
        let maps = ApiResource::of::<ConfigMap>();
        let names = json!({"name": "web", "namespace": "default"});
        for answer in [
            json!({"metadata": names}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": names}),
            json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": names}),
        ] {
            let object: PartialObject = serde_json::from_value(answer.clone()).unwrap();
            let answer = Encoded::json(answer.to_string());
            call(&maps).check_object(&answer).unwrap();
            call(&maps).check_decoded(&answer, &object).unwrap();
        }
        let alias = Call {
            name: Some("~"),
            ..call(&maps)
        };
        let answer = Encoded::json(json!({"metadata": names}).to_string());
        alias.check_object(&answer).unwrap();
        let scale = Call {
            subresource: Some("scale"),
            ..call(&maps)
        };
        let answer = Encoded::json(json!({"kind": "Scale"}).to_string());
        scale.check_object(&answer).unwrap();
        let unnamed = Call {
            verb: "create",
            name: None,
            ..call(&maps)
        };
        let answer = Encoded::json(json!({"kind": "ConfigMap"}).to_string());
        unnamed.check_object(&answer).unwrap();
    }

    #[test]
    fn a_404_about_another_object_is_no_proof_of_absence() {
        let maps = ApiResource::of::<ConfigMap>();
        let is_not_found = |reason: &str, details| {
            let status = json!({"code": 404, "reason": reason, "details": details});
            let status: Status = serde_json::from_value(status).unwrap();
            let error = Error::api("get", "ConfigMap default/web", status);
            call(&maps).check_absence(error).is_not_found()
        };
        for details in [
            json!({"name": "web", "kind": "configmaps"}),
            json!({"name": "web", "kind": "ConfigMap"}),
            json!({"name": "default/web"}),
        ] {
            assert!(is_not_found("NotFound", details));
        }
        for (reason, details) in [
            ("NotFound", json!({"name": "other", "kind": "configmaps"})),
            ("NotFound", json!({"name": "web", "kind": "pods"})),
            (
                "NotFound",
                json!({"name": "web", "kind": "configmaps", "group": "apps"}),
            ),
            ("NotFound", json!({"kind": "configmaps"})),
            ("", json!({"name": "web", "kind": "configmaps"})),
        ] {
            assert!(!is_not_found(reason, details));
        }
    }
}
