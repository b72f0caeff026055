use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    client::{Client, Error, Patch, PatchParams, RestMapper},
    crd::{self, CustomResourceDefinition, InstallError},
    operator::OperatorError,
    resource::{DynamicObject, Manifest, Object, Scheme, Status},
};

/// The manifests that the user of `dev` wants in the API server before the operator starts: definitions of other operators,
/// and objects.
#[derive(Debug, Default)]
pub(in crate::operator) struct InstallFiles {
    manifests: Vec<FileManifest>,
}

/// What the operator installs and configures itself, so that files with its printed manifests leave it out.
#[derive(Clone, Debug, Default)]
pub(in crate::operator) struct OwnParts {
    /// Its definitions.
    pub(in crate::operator) definitions: Vec<CustomResourceDefinition>,
    /// The names of its webhooks.
    pub(in crate::operator) webhooks: Vec<String>,
}

impl OwnParts {
    fn defines(&self, name: &str) -> bool {
        self.definitions.iter().any(|own| own.name() == name)
    }

    /// Whether the object configures one of the operator's webhooks.
    fn configures(&self, object: &DynamicObject) -> bool {
        let types = &object.types;
        if !types
            .api_version
            .starts_with("admissionregistration.k8s.io/")
            || !types.kind.ends_with("WebhookConfiguration")
        {
            return false;
        }
        let webhooks = object.data["webhooks"].as_array();
        let mut names = webhooks.into_iter().flatten().map(|one| &one["name"]);
        names.any(|name| self.webhooks.iter().any(|own| name == own))
    }
}

/// A document of a file.
#[derive(Debug)]
struct FileManifest {
    file: PathBuf,
    /// The whole text of the file.
    text: Arc<str>,
    manifest: Manifest,
}

impl InstallFiles {
    /// Reads files with one or several documents in YAML or JSON.
    ///
    /// # Errors
    /// [`OperatorError::InstallFile`] with document, line and path, if a file cannot be read or is no manifest.
    pub(in crate::operator) fn read(files: &[PathBuf]) -> Result<Self, OperatorError> {
        let scheme = Scheme::new()
            .with::<CustomResourceDefinition>()
            .with_other_kinds();
        let mut manifests = Vec::new();
        for file in files {
            let text = fs::read_to_string(file).map_err(|error| failed(file, unread(&error)))?;
            let text: Arc<str> = text.into();
            for manifest in scheme.decode(&text) {
                let manifest = manifest.map_err(|error| failed(file, error))?;
                let manifest = FileManifest {
                    file: file.clone(),
                    text: Arc::clone(&text),
                    manifest,
                };
                if manifest.manifest.metadata().name.is_none() {
                    return Err(manifest.failed("metadata.name is missing: give the object a name"));
                }
                manifests.push(manifest);
            }
        }
        Ok(Self { manifests })
    }

    /// The objects that are no definitions.
    pub(in crate::operator) fn objects(&self) -> impl Iterator<Item = &DynamicObject> {
        self.manifests.iter().filter_map(FileManifest::object)
    }

    /// The definitions.
    pub(in crate::operator) fn definitions(
        &self,
    ) -> impl Iterator<Item = &CustomResourceDefinition> {
        self.manifests.iter().filter_map(FileManifest::definition)
    }

    /// Installs everything: first definitions, until the server serves their kinds, then namespaces, then the other objects
    /// in the order of the files. The operator's own definitions and webhook configurations stay as they are. `say` gets a line for each object.
    ///
    /// # Errors
    /// [`OperatorError::InstallFile`] with document and line, if the server refuses an object: the line of the field, if the server names one.
    pub(in crate::operator) async fn install(
        self,
        client: &Client,
        field_manager: &str,
        own: &OwnParts,
        say: impl Fn(&str) -> Result<(), OperatorError>,
    ) -> Result<(), OperatorError> {
        let is_definition = |one: &FileManifest| one.definition().is_some();
        let (definitions, objects): (Vec<_>, Vec<_>) =
            self.manifests.into_iter().partition(is_definition);
        for one in definitions {
            let Some(definition) = one.definition() else {
                continue;
            };
            let name = definition.name();
            if own.defines(name) {
                say(&format!(
                    "Not installing {name} of {}: this operator defines it",
                    one.file.display()
                ))?;
                continue;
            }
            say(&format!("Installing {name} …"))?;
            let installed = crd::install(client, std::slice::from_ref(definition), field_manager);
            installed.await.map_err(|error| match &error {
                InstallError::Client(refused) => one.refused(refused),
                _ => one.failed(error),
            })?;
        }
        let (namespaces, objects): (Vec<_>, Vec<_>) =
            objects.into_iter().partition(FileManifest::is_namespace);
        let mapper = RestMapper::new(client);
        for one in namespaces.into_iter().chain(objects) {
            let types = &one.manifest.types;
            if one.object().is_some_and(|object| own.configures(object)) {
                say(&format!(
                    "Not installing {} {} of {}: this operator configures its webhooks itself, with a URL of its process",
                    types.kind,
                    one.manifest.key(),
                    one.file.display()
                ))?;
                continue;
            }
            say(&format!(
                "Installing {} {} …",
                types.kind,
                one.manifest.key()
            ))?;
            one.apply(&mapper, field_manager).await?;
        }
        Ok(())
    }
}

impl FileManifest {
    fn definition(&self) -> Option<&CustomResourceDefinition> {
        self.manifest.get()
    }

    /// Every kind but definitions is read as dynamic objects.
    fn object(&self) -> Option<&DynamicObject> {
        self.manifest.get()
    }

    fn is_namespace(&self) -> bool {
        let types = &self.manifest.types;
        types.api_version == "v1" && types.kind == "Namespace"
    }

    async fn apply(&self, mapper: &RestMapper, field_manager: &str) -> Result<(), OperatorError> {
        let Some(object) = self.object() else {
            return Ok(());
        };
        let api = mapper.api_for(object).await;
        let api = api.map_err(|error| self.failed(error))?;
        let body = serde_json::to_value(object).map_err(|error| self.failed(error))?;
        let params = PatchParams::apply(field_manager).force();
        let applied = api.patch(object.name(), &params, &Patch::Apply(body)).await;
        applied.map(drop).map_err(|error| self.refused(&error))
    }

    /// What the server says, with the line of the first field that it names.
    fn refused(&self, error: &Error) -> OperatorError {
        let field = error.status().and_then(named_field);
        let line = field.map(|field| self.manifest.line_of(&self.text, &field));
        self.failed_at(line.unwrap_or(self.manifest.line), error)
    }

    fn failed(&self, problem: impl std::fmt::Display) -> OperatorError {
        self.failed_at(self.manifest.line, problem)
    }

    fn failed_at(&self, line: usize, problem: impl std::fmt::Display) -> OperatorError {
        let document = self.manifest.document;
        failed(
            &self.file,
            format!("document {document}, line {line}: {problem}"),
        )
    }
}

/// The first field that a server names: among the causes, or in the text about a body that does not fit the schema, such as
/// `…: .spec.size: expected numeric`.
fn named_field(status: &Status) -> Option<String> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let mut fields = causes.map(|cause| cause.field.as_str());
    let field = fields.find(|field| !field.is_empty());
    let mut words = status.message.split_whitespace();
    let word =
        || words.find_map(|word| word.strip_suffix(':').filter(|path| path.starts_with('.')));
    field.or_else(word).map(str::to_owned)
}

/// Why a file cannot be read.
fn unread(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        _ => error.to_string(),
    }
}

fn failed(file: &Path, problem: impl std::fmt::Display) -> OperatorError {
    OperatorError::InstallFile {
        file: file.to_owned(),
        problem: problem.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_sandbox::Sandbox;
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        client::{Api, Config},
        resource::ApiResource,
    };

    const DEFINITION: &str = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gauges.other.example.com"},
        "spec": {"group": "other.example.com", "scope": "Namespaced",
            "names": {"kind": "Gauge", "listKind": "GaugeList", "plural": "gauges", "singular": "gauge"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "properties": {"spec": {"type": "object", "properties":
                    {"size": {"type": "integer", "maximum": 9}}}}}}}]}}"#;

    /// Installs files with these names and texts in a new sandbox. In errors the folder is replaced by `~`.
    async fn installed(files: &[(&str, &str)]) -> (Client, Sandbox, Result<Vec<String>, String>) {
        installed_beside(&OwnParts::default(), files).await
    }

    /// As [`installed`], by an operator with these parts.
    async fn installed_beside(
        own: &OwnParts,
        files: &[(&str, &str)],
    ) -> (Client, Sandbox, Result<Vec<String>, String>) {
        let folder = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        for (name, text) in files {
            let path = folder.path().join(name);
            if !text.is_empty() {
                fs::write(&path, text).unwrap();
            }
            paths.push(path);
        }
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let pipes = sandbox.clone();
        let client = Client::builder(Config::new(http::Uri::from_static("http://sandbox")))
            .connector(std::sync::Arc::new(move || Ok(pipes.connect())))
            .build()
            .unwrap();
        let said = parking_lot::Mutex::new(Vec::new());
        let say = |line: &str| {
            said.lock().push(line.to_owned());
            Ok(())
        };
        let result = match InstallFiles::read(&paths) {
            Ok(files) => files.install(&client, "test", own, say).await,
            Err(error) => Err(error),
        };
        let folder = folder.path().to_str().unwrap().to_owned();
        let result = result.map_err(|error| error.to_string().replace(&folder, "~"));
        let result = result.map(|()| said.into_inner());
        (client, sandbox, result)
    }

    #[tokio::test(start_paused = true)]
    async fn definitions_come_first_then_namespaces_then_the_other_objects() {
        let objects = "apiVersion: other.example.com/v1\nkind: Gauge\nmetadata: {name: a, namespace: shop}\nspec: {size: 3}\n\
                       ---\n\
                       {\"apiVersion\": \"v1\", \"kind\": \"Namespace\", \"metadata\": {\"name\": \"shop\"}}\n\
                       ---\n\
                       apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";
        let (client, _sandbox, said) =
            installed(&[("objects.yaml", objects), ("crd.json", DEFINITION)]).await;
        assert_eq!(
            said.unwrap(),
            [
                "Installing gauges.other.example.com …",
                "Installing Namespace shop …",
                "Installing Gauge shop/a …",
                "Installing ConfigMap b …",
            ]
        );
        let kind = ApiResource::of::<k8s_openapi::api::core::v1::ConfigMap>();
        let maps = Api::<DynamicObject>::of(&client, kind, Some("default"));
        assert_eq!(maps.get("b").await.unwrap().name(), "b");
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_operator_installs_and_configures_itself_is_left_out() {
        let own = OwnParts {
            definitions: vec![serde_json::from_str(DEFINITION).unwrap()],
            webhooks: vec!["validate.gauges.other.example.com".into()],
        };
        let configuration = |kind: &str, name: &str, webhook: &str| {
            format!(
                "apiVersion: admissionregistration.k8s.io/v1\nkind: {kind}WebhookConfiguration\nmetadata: {{name: {name}}}\nwebhooks:\n\
                 - name: {webhook}\n  clientConfig: {{service: {{name: a, namespace: b}}}}\n  sideEffects: None\n  admissionReviewVersions: [v1]\n---\n"
            )
        };
        let text = [
            // A kustomization may have given it another name.
            configuration(
                "Validating",
                "staging-gauges",
                "validate.gauges.other.example.com",
            ),
            configuration("Mutating", "others", "mutate.pods.other.example.com"),
            DEFINITION.to_owned(),
        ];
        let (client, _sandbox, said) = installed_beside(&own, &[("m.yaml", &text.concat())]).await;
        let said = said.unwrap();
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(
            said[0].starts_with("Not installing gauges.other.example.com of "),
            "{said:?}"
        );
        assert!(
            said[0].ends_with("m.yaml: this operator defines it"),
            "{said:?}"
        );
        assert!(
            said[1].starts_with("Not installing ValidatingWebhookConfiguration staging-gauges of "),
            "{said:?}"
        );
        assert!(
            said[1].ends_with(
                "m.yaml: this operator configures its webhooks itself, with a URL of its process"
            ),
            "{said:?}"
        );
        assert_eq!(said[2], "Installing MutatingWebhookConfiguration others …");
        let kind = ApiResource::of::<
            k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration,
        >();
        let all = Api::<DynamicObject>::of(&client, kind, None);
        let found = all.get_opt("staging-gauges").await.unwrap();
        assert!(found.is_none(), "{found:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_names_file_document_line_and_path() {
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n";
        let broken = format!("{map}apiVersion: v1\nkind: [\n");
        let nameless = format!("{map}apiVersion: v1\nkind: ConfigMap\nmetadata: {{}}\n");
        let unknown =
            format!("{map}apiVersion: none.example.com/v1\nkind: None\nmetadata: {{name: a}}\n");
        let mistyped: Value = serde_json::from_str(DEFINITION).unwrap();
        let mut mistyped = mistyped;
        mistyped["spec"]["versions"][0]["served"] = json!("yes");
        let mistyped = mistyped.to_string();
        let large = format!(
            "{DEFINITION}\n---\napiVersion: other.example.com/v1\nkind: Gauge\nmetadata: {{name: a}}\nspec: {{size: 10}}\n"
        );
        let listed = format!(
            "{map}kind: List\napiVersion: v1\nitems:\n- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: b}}}}\n\
             - apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: c}}\n  data:\n    host: a\n    port: 80\n"
        );
        for (text, expected) in [
            ("", &["cannot install ~/x.yaml: there is no such file"][..]),
            (&broken, &["cannot install ~/x.yaml: document 2, line "]),
            (
                &nameless,
                &["cannot install ~/x.yaml: document 2, line 5: metadata.name is missing"],
            ),
            (
                &unknown,
                &["cannot install ~/x.yaml: document 2, line 5: ", "None"],
            ),
            (
                &mistyped,
                &["cannot install ~/x.yaml: document 1, line 1: spec.versions[0].served: "],
            ),
            (
                &large,
                &[
                    "cannot install ~/x.yaml: document 2, line 12: ",
                    "spec.size",
                ],
            ),
            (
                &listed,
                &[
                    "cannot install ~/x.yaml: document 2, line 14: ",
                    ".data.port",
                ],
            ),
        ] {
            let error = installed(&[("x.yaml", text)]).await.2.unwrap_err();
            assert!(error.starts_with(expected[0]), "{error}");
            assert!(expected.iter().all(|part| error.contains(part)), "{error}");
        }
    }
}
