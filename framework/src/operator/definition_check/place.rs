use serde_json::Value;

/// A place in the schemas of a definition, as an API server names it:
/// `spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[pages].items.x-kubernetes-validations[0].rule`.
pub(super) struct Place<'a> {
    /// The position of the version in the definition.
    pub(super) version: usize,
    pub(super) steps: Vec<Step<'a>>,
    /// The keyword of the schema there, such as `x-kubernetes-validations[0].rule`.
    pub(super) keyword: &'a str,
}

/// From a schema to one in it.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Property(&'a str),
    Items,
    Values,
}

impl<'a> Place<'a> {
    /// `None` if the field is outside of a schema.
    pub(super) fn of(field: &'a str) -> Option<Self> {
        let (before, mut rest) = field.split_once("openAPIV3Schema")?;
        // The server speaks of `spec.validation` if all versions have the same schema.
        let version = before.strip_prefix("spec.versions[");
        let version = version.and_then(|rest| rest.split_once(']')?.0.parse().ok());
        let mut steps = Vec::new();
        loop {
            if let Some(after) = rest.strip_prefix(".properties[") {
                let (name, after) = after.split_once(']')?;
                steps.push(Step::Property(name));
                rest = after;
            } else if let Some(after) = rest.strip_prefix(".items") {
                steps.push(Step::Items);
                rest = after;
            } else if let Some(after) = rest.strip_prefix(".additionalProperties") {
                steps.push(Step::Values);
                rest = after;
            } else {
                return Some(Self {
                    version: version.unwrap_or(0),
                    steps,
                    keyword: rest.trim_start_matches('.'),
                });
            }
        }
    }

    /// The path in an object, such as `spec.pages[]`; empty for the object itself.
    pub(super) fn path(&self) -> String {
        let steps = self.steps.iter();
        steps.fold(String::new(), |path, step| step.after(&path))
    }

    /// The position of the CEL rule among those of the schema, if the place is in one.
    pub(super) fn rule(&self) -> Option<usize> {
        let rest = self.keyword.strip_prefix("x-kubernetes-validations[")?;
        rest.split_once(']')?.0.parse().ok()
    }

    /// The schema there, in that of a whole object.
    pub(super) fn schema<'s>(&self, object: &'s Value) -> &'s Value {
        let steps = self.steps.iter();
        steps.fold(object, |schema, step| step.inner(schema))
    }
}

impl Step<'_> {
    /// The path in an object behind this step.
    pub(super) fn after(self, path: &str) -> String {
        match self {
            Self::Property(name) if path.is_empty() => name.to_owned(),
            Self::Property(name) => format!("{path}.{name}"),
            Self::Items => format!("{path}[]"),
            Self::Values => format!("{path}{{}}"),
        }
    }

    /// The schema behind this step.
    pub(super) fn inner(self, schema: &Value) -> &Value {
        match self {
            Self::Property(name) => &schema["properties"][name],
            Self::Items => &schema["items"],
            Self::Values => &schema["additionalProperties"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_in_a_schema_becomes_the_path_in_an_object() {
        fn shown(field: &str) -> Option<(usize, String, String)> {
            let place = Place::of(field)?;
            Some((place.version, place.path(), place.keyword.to_owned()))
        }
        let rule = "x-kubernetes-validations[0].rule";
        assert_eq!(
            shown(&format!(
                "spec.versions[1].schema.openAPIV3Schema.properties[spec].properties[pages].items.properties[tags].additionalProperties.{rule}"
            )),
            Some((1, "spec.pages[].tags{}".into(), rule.into()))
        );
        assert_eq!(
            shown("spec.validation.openAPIV3Schema"),
            Some((0, String::new(), String::new()))
        );
        assert_eq!(shown("spec.names.plural"), None);
    }
}
