use std::{collections::BTreeSet, fmt, net::SocketAddr, path::PathBuf};

use crate::{crd::CustomResourceDefinition, operator::Serving, resource::Object};

/// The text that `dev` prints when everything runs: addresses, and commands to try.
#[derive(Debug)]
pub(in crate::operator) struct Banner {
    pub(in crate::operator) operator: String,
    /// The URL of the API server.
    pub(in crate::operator) api_server: String,
    pub(in crate::operator) kubeconfig: PathBuf,
    /// The usual path of the kubeconfig, if another process uses it.
    pub(in crate::operator) taken_kubeconfig: Option<PathBuf>,
    pub(in crate::operator) http: Option<SocketAddr>,
    pub(in crate::operator) serving: Serving,
    /// Whether the debug page is served.
    pub(in crate::operator) debug_page: bool,
    pub(in crate::operator) example: Option<String>,
    pub(in crate::operator) definitions: Vec<CustomResourceDefinition>,
    /// The names of the definitions whose kinds kubectl finds only with their group.
    pub(in crate::operator) ambiguous: BTreeSet<String>,
    /// The paths of the program's own routes.
    pub(in crate::operator) routes: Vec<String>,
    /// What becomes of the objects.
    pub(in crate::operator) objects: Objects,
    /// The kinds of the operator that the server only stores.
    pub(in crate::operator) only_stored: Vec<String>,
}

/// What becomes of the objects of the API server when `dev` ends.
#[derive(Debug)]
pub(in crate::operator) enum Objects {
    /// They end with the server.
    End,
    /// The server is not of this process.
    Stay,
    /// This folder keeps them.
    Kept(PathBuf),
}

impl Banner {
    /// What the user needs before everything runs.
    pub(in crate::operator) fn early(&self) -> String {
        format!(
            "kubectl can use it from now on: export KUBECONFIG={}",
            quoted(&self.kubeconfig.display().to_string())
        )
    }
}

impl fmt::Display for Banner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kubeconfig = self.kubeconfig.display();
        writeln!(f, "\n{} is running.\n", self.operator)?;
        writeln!(f, "  API server  {}", self.api_server)?;
        writeln!(f, "  kubeconfig  {kubeconfig}")?;
        if let Some(taken) = &self.taken_kubeconfig {
            let (operator, taken) = (&self.operator, taken.display());
            writeln!(
                f,
                "              (another `{operator} dev` runs and uses {taken})"
            )?;
        }
        if let Some(http) = self.http {
            let serving = &self.serving;
            writeln!(f, "  metrics     {serving}://{http}/metrics")?;
            writeln!(f, "  health      {serving}://{http}/readyz?verbose")?;
            if self.debug_page {
                writeln!(f, "  debug       {serving}://{http}/debug")?;
            }
            for path in &self.routes {
                writeln!(f, "  route       {serving}://{http}{path}")?;
            }
        }
        if !self.only_stored.is_empty() {
            let kinds = self.only_stored.join(", ");
            writeln!(f, "\nNot simulated: {kinds}.")?;
            writeln!(
                f,
                "The API server only stores these objects: nothing acts on them, and their status does not change."
            )?;
            writeln!(
                f,
                "Write the status yourself: kubectl patch --subresource=status …"
            )?;
        }
        writeln!(f, "\nTry in another terminal:\n")?;
        writeln!(f, "  export KUBECONFIG={}", quoted(&kubeconfig.to_string()))?;
        if let Some(example) = &self.example {
            writeln!(f, "  kubectl apply -f {}", quoted(example))?;
        }
        for definition in &self.definitions {
            let spec = &definition.spec;
            let singular = spec.names.singular.as_deref();
            let singular = singular.unwrap_or(&spec.names.plural);
            match self.ambiguous.contains(definition.name()) {
                false => {
                    writeln!(f, "  kubectl explain {singular}.spec")?;
                    writeln!(f, "  kubectl get {} --watch", spec.names.plural)?;
                }
                true => {
                    let stored = spec.versions.iter().find(|version| version.storage);
                    let version = stored.map_or("v1", |version| &version.name);
                    let (plural, group) = (&spec.names.plural, &spec.group);
                    writeln!(
                        f,
                        "  kubectl explain {singular}.spec --api-version={group}/{version}"
                    )?;
                    writeln!(f, "  kubectl get {plural}.{group} --watch")?;
                }
            }
        }
        match &self.objects {
            Objects::End => writeln!(f, "\nCtrl-C stops it and deletes everything in it.\n"),
            Objects::Stay => writeln!(
                f,
                "\nCtrl-C stops it. The API server goes on with its objects.\n"
            ),
            Objects::Kept(folder) => {
                let folder = folder.display();
                writeln!(f, "\nCtrl-C stops it. {folder} keeps its objects.\n")
            }
        }
    }
}

/// Quotes a text so that a shell reads it as one word.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:@".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn banner(serving: Serving) -> Banner {
        Banner {
            operator: "website".into(),
            api_server: "https://127.0.0.1:1".into(),
            kubeconfig: "/k-2".into(),
            taken_kubeconfig: Some("/k".into()),
            http: Some(([127, 0, 0, 1], 2).into()),
            serving,
            debug_page: true,
            example: None,
            definitions: Vec::new(),
            ambiguous: BTreeSet::new(),
            routes: vec!["/hook".into()],
            objects: Objects::Kept("/objects".into()),
            only_stored: vec!["PodDisruptionBudget".into(), "Node".into()],
        }
    }

    #[test]
    fn the_banner_shows_the_urls_of_metrics_and_health() {
        for (serving, expected) in [
            (Serving::http(), "http"),
            (Serving::self_signed(), "https"),
            (Serving::https("a", "b").authorized(), "https"),
        ] {
            let banner = banner(serving);
            assert!(banner.early().ends_with("export KUBECONFIG=/k-2"));
            let text = banner.to_string();
            let kubeconfig =
                "kubeconfig  /k-2\n              (another `website dev` runs and uses /k)\n";
            assert!(text.contains(kubeconfig), "{text}");
            assert!(
                text.contains("\nNot simulated: PodDisruptionBudget, Node.\n"),
                "{text}"
            );
            assert!(text.ends_with("\nCtrl-C stops it. /objects keeps its objects.\n\n"));
            for path in ["metrics", "readyz?verbose", "debug", "hook"] {
                let url = format!(" {expected}://127.0.0.1:2/{path}\n");
                assert!(text.contains(&url), "{text}");
            }
        }
    }

    #[test]
    fn a_kind_that_kubectl_would_not_find_alone_has_its_group_in_the_commands() {
        let definition = |group: &str, plural: &str| {
            let names =
                json!({"kind": "Any", "plural": plural, "singular": &plural[..plural.len() - 1]});
            serde_json::from_value(json!({
                "metadata": {"name": format!("{plural}.{group}")},
                "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": [
                    {"name": "v2", "served": true, "storage": false}, {"name": "v1", "served": true, "storage": true},
                ]},
            }))
            .unwrap()
        };
        let banner = Banner {
            definitions: vec![
                definition("example.com", "pods"),
                definition("example.com", "gauges"),
            ],
            ambiguous: ["pods.example.com".to_owned()].into(),
            ..banner(Serving::http())
        };
        let text = banner.to_string();
        let expected = "
  kubectl explain pod.spec --api-version=example.com/v1
  kubectl get pods.example.com --watch
  kubectl explain gauge.spec
  kubectl get gauges --watch
";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn a_quoted_path_is_one_word_of_a_shell() {
        assert_eq!(quoted("/home/me/.cache/k"), "/home/me/.cache/k");
        assert_eq!(quoted("/my home/it's"), r"'/my home/it'\''s'");
    }
}
