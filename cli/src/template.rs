//! The texts of `templates/`, with the names filled in.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    names::{ApiVersion, Kind},
    terminal::quoted,
};

/// What the texts are about.
pub(crate) struct Names<'a> {
    pub(crate) operator: &'a str,
    /// The name of its library in Rust.
    pub(crate) library: &'a str,
    pub(crate) kind: &'a Kind,
    pub(crate) api_version: &'a ApiVersion,
    pub(crate) framework: &'a Framework,
    /// The folder of the operator in the project, with a slash at its end; empty if it is the project's.
    pub(crate) folder: &'a str,
}

/// Where the framework comes from.
#[derive(Debug, Default)]
pub(crate) struct Framework {
    /// The value of the dependency in `Cargo.toml`, without its braces.
    pub(crate) dependency: String,
    /// What an image needs if it is a folder.
    pub(crate) folder: Option<FrameworkFolder>,
}

/// The framework in a folder outside of the project.
#[derive(Debug)]
pub(crate) struct FrameworkFolder {
    /// The folder that a build of an image gets as a context: that of the framework, or of its workspace.
    pub(crate) context: PathBuf,
    /// The files and folders in it that Cargo needs.
    pub(crate) parts: Vec<PathBuf>,
}

/// The framework's package.
const FRAMEWORK: &str = "pilothouse";

/// The name of the build context with the framework.
const CONTEXT: &str = "pilothouse";

impl Framework {
    /// The option of `docker build`.
    pub(crate) fn context(&self) -> String {
        self.folder.as_ref().map_or_else(String::new, |folder| {
            format!(" --build-context {CONTEXT}={}", quoted(&folder.context))
        })
    }

    /// What has to change before a machine without the folder builds the project: each file, and what to write there.
    pub(crate) fn elsewhere(&self) -> Vec<String> {
        match &self.folder {
            Some(_) => vec![
                format!(
                    "Cargo.toml: {FRAMEWORK} = {{ git = \"URL\", rev = \"COMMIT\" }}, or a `path` in this repository"
                ),
                "deny.toml, for git: allow-git = [\"URL\"] below `unknown-git`".into(),
                format!(
                    "Dockerfile: without the lines `COPY --from={CONTEXT} …`, and the comment about them"
                ),
                "README.md: `docker build` without `--build-context …`".into(),
            ],
            None => Vec::new(),
        }
    }

    /// The comment of the workflow.
    fn ci_note(&self) -> String {
        let changes = self.elsewhere();
        if changes.is_empty() {
            return String::new();
        }
        let lines: String = changes
            .iter()
            .map(|change| format!("#   {change}\n"))
            .collect();
        format!(
            "# The framework is a folder of one machine, which no runner has. This workflow passes after these changes:\n#\n{lines}\n"
        )
    }

    /// The comment of the rules for the dependencies.
    fn deny_note(&self) -> &'static str {
        match &self.folder {
            Some(_) => {
                "# When the framework comes from a git repository, with its URL as in Cargo.toml:\n# allow-git = [\"URL\"]\n"
            }
            None => "",
        }
    }

    /// The comment of the Dockerfile.
    fn image_note(&self) -> String {
        match &self.folder {
            Some(_) => format!(
                "# The framework is a folder of this machine, which the build needs as a context of its own:\n#\n#   docker build{} -t NAME .\n",
                self.context()
            ),
            None => String::new(),
        }
    }

    /// The lines of the Dockerfile that copy the framework to the path that `Cargo.toml` names.
    fn copies(&self) -> String {
        let mut lines = String::new();
        if let Some(FrameworkFolder { context, parts }) = &self.folder {
            for part in parts {
                let to = context.join(part);
                let (from, to) = (part.display().to_string(), to.display().to_string());
                let pair = serde_json::json!([from, to]);
                lines += &format!("COPY --from={CONTEXT} {pair}\n");
            }
        }
        lines
    }
}

impl Names<'_> {
    /// The text with a value for each `{{name}}`.
    pub(crate) fn fill(&self, template: &str) -> String {
        let (module, singular) = (self.kind.module(), self.kind.singular());
        let values = [
            ("name", self.operator),
            ("library", self.library),
            ("kind", self.kind.as_str()),
            ("module", &module),
            ("singular", &singular),
            ("group", &self.api_version.group),
            ("version", &self.api_version.version),
            ("framework", &self.framework.dependency),
            ("context", &self.framework.context()),
            ("ci_note", &self.framework.ci_note()),
            ("deny_note", self.framework.deny_note()),
            ("image_note", &self.framework.image_note()),
            ("copies", &self.framework.copies()),
            ("folder", self.folder),
        ];
        let mut text = template.to_owned();
        for (name, value) in values {
            text = text.replace(&format!("{{{{{name}}}}}"), value);
        }
        text
    }
}

/// Formats sources: the names change where a line is broken and in which order imports stand. Without rustfmt they stay as they are.
pub(crate) fn format(sources: &[PathBuf]) {
    let mut sources = sources
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .peekable();
    // Without a file, rustfmt reads the standard input.
    if sources.peek().is_none() {
        return;
    }
    let mut command = Command::new("rustfmt");
    command.args(["--edition", "2024"]).args(sources);
    command.stdin(Stdio::null());
    let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// A source as rustfmt writes it, with the settings of this folder. Unlike [`format`](fn@format) it touches no other file: rustfmt follows the modules of a file.
/// `None` without rustfmt, or if the source is no Rust.
pub(crate) fn formatted(text: &str, folder: &Path) -> Option<String> {
    let mut command = Command::new("rustfmt");
    command.args(["--edition", "2024"]).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.stderr(Stdio::null()).spawn().ok()?;
    // It reads everything before it writes. Its input ends when this is dropped.
    let written = process.stdin.take()?.write_all(text.as_bytes());
    let output = process.wait_with_output().ok()?;
    written.ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// A file of a template: its path, and its text before the names are filled in. The path may contain names, too.
pub(crate) type Template<'a> = (&'a str, &'a str);

/// The files that a project has once.
pub(crate) const PROJECT: &[Template<'static>] = &[
    (".gitignore", include_str!("../templates/project/gitignore")),
    (
        ".editorconfig",
        include_str!("../templates/project/editorconfig"),
    ),
    (
        ".vscode/extensions.json",
        include_str!("../templates/project/extensions.json"),
    ),
    (
        ".vscode/settings.json",
        include_str!("../templates/project/settings.json"),
    ),
    (
        ".github/workflows/ci.yaml",
        include_str!("../templates/project/ci.yaml"),
    ),
    (
        ".dockerignore",
        include_str!("../templates/project/dockerignore"),
    ),
    (
        "Dockerfile",
        include_str!("../templates/project/Dockerfile"),
    ),
    ("README.md", include_str!("../templates/project/README.md")),
    ("deny.toml", include_str!("../templates/project/deny.toml")),
];

/// The profiles of Cargo: they stand in the manifest at the top of a project.
pub(crate) const PROFILES: &str = include_str!("../templates/project/profiles.toml");

/// The manifest of a workspace.
pub(crate) const WORKSPACE: &[Template<'static>] = &[(
    "Cargo.toml",
    include_str!("../templates/project/workspace.toml"),
)];

/// The files of an operator, beside those of its kinds.
pub(crate) const OPERATOR: &[Template<'static>] = &[
    (
        "Cargo.toml",
        include_str!("../templates/operator/operator.toml"),
    ),
    ("src/lib.rs", include_str!("../templates/operator/lib.rs")),
    ("src/main.rs", include_str!("../templates/operator/main.rs")),
];

/// The files of a kind.
pub(crate) const KIND: &[Template<'static>] = &[
    (
        "src/{{module}}.rs",
        include_str!("../templates/kind/kind.rs"),
    ),
    (
        "tests/{{module}}.rs",
        include_str!("../templates/kind/test.rs"),
    ),
    (
        "example/{{singular}}.yaml",
        include_str!("../templates/kind/example.yaml"),
    ),
];

/// The files of the webhooks of a kind.
pub(crate) const WEBHOOK: &[Template<'static>] = &[
    (
        "src/{{module}}_webhook.rs",
        include_str!("../templates/webhook/webhook.rs"),
    ),
    (
        "tests/{{module}}_webhook.rs",
        include_str!("../templates/webhook/test.rs"),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_every_template_is_known() {
        let names = Names {
            operator: "web-site",
            library: "web_site",
            kind: &Kind::new("WebSite").unwrap(),
            api_version: &ApiVersion::new("example.com/v1").unwrap(),
            framework: &Framework::default(),
            folder: "operators/web-site/",
        };
        for (path, text) in [PROJECT, WORKSPACE, OPERATOR, KIND, WEBHOOK].concat() {
            for text in [path, text] {
                let filled = names.fill(text);
                // GitHub's own placeholders have a dollar sign.
                let left = filled.replace("${{", "");
                assert!(!left.contains("{{"), "{path}: {filled}");
            }
        }
    }
}
