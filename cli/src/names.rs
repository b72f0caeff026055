//! The names of operators and kinds, and what follows from them.

/// Why a name is refused, and what to write.
#[derive(Debug, thiserror::Error, PartialEq)]
pub(crate) enum NameError {
    #[error(
        "`{0}` is not the name of an operator: write at most 50 lowercase letters, digits and `-`, beginning with a letter, such as `website`"
    )]
    Operator(String),
    #[error("`{0}` is taken by Rust or by the framework: choose another name for the operator")]
    OperatorTaken(String),
    #[error(
        "`{0}` is not a kind: write at most 60 letters and digits, beginning with a capital letter, such as `CronTask`"
    )]
    Kind(String),
    #[error(
        "`{0}` is a name that the framework's prelude or Rust uses: choose another kind, such as `My{0}`"
    )]
    KindTaken(String),
    #[error(
        "`{0}` is not the apiVersion of a kind of yours: write a group with a dot, a slash and a version, such as `example.com/v1`"
    )]
    ApiVersion(String),
    #[error(
        "`{0}` is not a version of a kind: write `v` and a number, such as `v2`, or with a stage, such as `v2beta1`"
    )]
    Version(String),
    #[error(
        "the group `{0}` belongs to Kubernetes: use a domain of your own, such as `example.com`"
    )]
    Group(String),
}

/// The name of an operator: of its package, and of its objects in a cluster.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OperatorName(String);

/// Words that Cargo refuses as the name of a package, or that would clash with a dependency.
const TAKEN_OPERATORS: &[&str] = &[
    "abstract",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "struct",
    "super",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
    "alloc",
    "core",
    "std",
    "test",
    "proc-macro",
    "build",
    "deps",
    "examples",
    "incremental",
    "pilothouse",
    "serde",
    "serde-json",
    "tokio",
];

/// What the generated sources use by its bare name.
const TAKEN_KINDS: &[&str] = &[
    "Action",
    "Arc",
    "BTreeMap",
    "Box",
    "Child",
    "Clone",
    "Cluster",
    "Condition",
    "ConfigMap",
    "Context",
    "Controller",
    "Debug",
    "Default",
    "Deserialize",
    "Err",
    "Failure",
    "None",
    "Object",
    "ObjectMeta",
    "Offline",
    "Ok",
    "Operator",
    "Option",
    "Reconciler",
    "Resource",
    "Result",
    "Schema",
    "Self",
    "Serialize",
    "Some",
    "String",
    "Vec",
];

impl OperatorName {
    pub(crate) fn new(text: &str) -> Result<Self, NameError> {
        let mut letters = text.chars();
        let begins = letters
            .next()
            .is_some_and(|first| first.is_ascii_lowercase());
        let all = text
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-');
        if !begins || !all || text.ends_with('-') || text.len() > 50 {
            return Err(NameError::Operator(text.into()));
        }
        if TAKEN_OPERATORS.contains(&text) {
            return Err(NameError::OperatorTaken(text.into()));
        }
        Ok(Self(text.into()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of its library in Rust.
    pub(crate) fn library(&self) -> String {
        self.0.replace('-', "_")
    }

    /// The kind that the name suggests: `cron-task-operator` is for a `CronTask`.
    pub(crate) fn suggested_kind(&self) -> String {
        let ending = ["-operator", "-controller"];
        let stem = ending.iter().find_map(|ending| self.0.strip_suffix(ending));
        let words = stem.unwrap_or(&self.0).split('-');
        words
            .map(|word| {
                let (first, rest) = word.split_at(word.len().min(1));
                first.to_ascii_uppercase() + rest
            })
            .collect()
    }
}

/// A kind of objects.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kind(String);

impl Kind {
    pub(crate) fn new(text: &str) -> Result<Self, NameError> {
        let begins = text.starts_with(|first: char| first.is_ascii_uppercase());
        let all = text.chars().all(|letter| letter.is_ascii_alphanumeric());
        if !begins || !all || text.len() > 60 {
            return Err(NameError::Kind(text.into()));
        }
        let module = Self(text.into()).module();
        if TAKEN_KINDS.contains(&text)
            || TAKEN_OPERATORS.contains(&module.replace('_', "-").as_str())
            || ["lib", "main"].contains(&module.as_str())
        {
            return Err(NameError::KindTaken(text.into()));
        }
        Ok(Self(text.into()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of its module: `CronTask` is in `cron_task`, and `HTTPRoute` in `http_route`.
    pub(crate) fn module(&self) -> String {
        let letters: Vec<char> = self.0.chars().collect();
        let mut module = String::new();
        for (at, letter) in letters.iter().enumerate() {
            let previous = at.checked_sub(1).map(|at| letters[at]);
            let begins_word = letter.is_ascii_uppercase()
                && previous.is_some_and(|previous| {
                    !previous.is_ascii_uppercase()
                        || letters.get(at + 1).is_some_and(char::is_ascii_lowercase)
                });
            if begins_word {
                module.push('_');
            }
            module.push(letter.to_ascii_lowercase());
        }
        module
    }

    /// Its name in commands of kubectl.
    pub(crate) fn singular(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

/// Group and version of a kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiVersion {
    pub(crate) group: String,
    pub(crate) version: String,
}

impl ApiVersion {
    pub(crate) fn new(text: &str) -> Result<Self, NameError> {
        let wrong = || NameError::ApiVersion(text.into());
        let (group, version) = text.split_once('/').ok_or_else(wrong)?;
        let is_label = |label: &str| {
            let inner = |letter: char| {
                letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-'
            };
            !label.is_empty()
                && label.len() <= 63
                && label.chars().all(inner)
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        if !group.contains('.')
            || !group.split('.').all(is_label)
            || group.len() > 200
            || !is_version(version)
        {
            return Err(wrong());
        }
        let of_kubernetes = ["k8s.io", "kubernetes.io"];
        let is_in = |domain| group == domain || group.ends_with(&format!(".{domain}"));
        if of_kubernetes.into_iter().any(is_in) {
            return Err(NameError::Group(group.into()));
        }
        Ok(Self {
            group: group.into(),
            version: version.into(),
        })
    }
}

/// The name of a version.
pub(crate) fn version(text: &str) -> Result<String, NameError> {
    match is_version(text) {
        true => Ok(text.to_owned()),
        false => Err(NameError::Version(text.into())),
    }
}

/// What orders versions by their age: the number, the stage, and the number of the stage. A text that is no version is the oldest.
pub(crate) fn age(version: &str) -> (u32, u8, u32) {
    let number = |text: &str| text.parse().unwrap_or_default();
    let text = version.strip_prefix('v').filter(|_| is_version(version));
    let text = text.unwrap_or_default();
    for (stage, name) in [(0, "alpha"), (1, "beta")] {
        if let Some((major, minor)) = text.split_once(name) {
            return (number(major), stage, number(minor));
        }
    }
    (number(text), 2, 0)
}

/// Whether this is a version of a kind, such as `v1` or `v2beta3`.
fn is_version(text: &str) -> bool {
    let is_number = |text: &str| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        digits && !text.starts_with('0') && text.parse::<u32>().is_ok()
    };
    let Some(text) = text.strip_prefix('v') else {
        return false;
    };
    ["alpha", "beta"]
        .iter()
        .find_map(|stage| text.split_once(stage))
        .map_or_else(
            || is_number(text),
            |(major, minor)| is_number(major) && is_number(minor),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cargo_or_kubernetes_refuses_are_refused() {
        for name in ["", "Web", "1a", "a_b", "a-", "-a", "a.b", &"a".repeat(51)] {
            let error = OperatorName::new(name);
            assert_eq!(error, Err(NameError::Operator(name.into())), "{name}");
        }
        for name in ["fn", "test", "pilothouse"] {
            assert_eq!(
                OperatorName::new(name),
                Err(NameError::OperatorTaken(name.into()))
            );
        }
        for kind in ["", "task", "Cron-Task", "Größe", &"A".repeat(61)] {
            assert_eq!(Kind::new(kind), Err(NameError::Kind(kind.into())), "{kind}");
        }
        for kind in ["Context", "Result", "Lib", "Match", "SerdeJson"] {
            assert_eq!(Kind::new(kind), Err(NameError::KindTaken(kind.into())));
        }
        for version in [
            "v1",
            "example/v1",
            "example.com",
            "example.com/1",
            "example.com/v0",
            "a..b/v1",
            "A.com/v1",
            "a.b/v1alpha",
            "a.b/v01",
            "a.b/v+1",
        ] {
            assert_eq!(
                ApiVersion::new(version),
                Err(NameError::ApiVersion(version.into()))
            );
        }
        let of_kubernetes = NameError::Group("apps.k8s.io".into());
        assert_eq!(ApiVersion::new("apps.k8s.io/v1"), Err(of_kubernetes));
        assert!(ApiVersion::new("my-k8s.io/v2beta3").is_ok());
    }

    #[test]
    fn versions_have_an_age() {
        let ordered = [
            "Shelf", "v1alpha1", "v1alpha2", "v1beta1", "v1", "v2alpha1", "v2", "v10",
        ];
        assert!(ordered.is_sorted_by_key(|version| age(version)));
        assert!(age("v1beta1") < age("v1"));
    }

    #[test]
    fn the_other_names_follow() {
        for (kind, module) in [
            ("Website", "website"),
            ("CronTask", "cron_task"),
            ("HTTPRoute", "http_route"),
            ("S3Bucket", "s3_bucket"),
        ] {
            assert_eq!(Kind::new(kind).unwrap().module(), module);
        }
        for (name, kind) in [
            ("website", "Website"),
            ("cron-task-operator", "CronTask"),
            ("operator", "Operator"),
        ] {
            assert_eq!(OperatorName::new(name).unwrap().suggested_kind(), kind);
        }
    }
}
