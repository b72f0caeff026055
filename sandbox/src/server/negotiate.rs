use crate::error::ApiError;

/// The form of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The object itself.
    Object,
    /// A table for people.
    Table,
    /// The metadata of one object.
    Partial,
    /// The metadata of the objects of a list.
    PartialList,
}

const CBOR: &str = "application/cbor";

struct Choice<'a> {
    media: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

/// Chooses the form of the response from `Accept`, and whether it is CBOR: the first possible one, by falling quality.
///
/// Partial metadata has a separate name for lists. Whether the request names the right one is checked when the response
/// is made. `cbor` says whether the server offers CBOR.
///
/// # Errors
/// 406 if no form is possible.
pub(super) fn negotiate(accept: &str, cbor: bool) -> Result<(Form, bool), ApiError> {
    if accept.trim().is_empty() {
        return Ok((Form::Object, false));
    }
    let mut choices: Vec<Choice<'_>> = accept.split(',').filter_map(choice).collect();
    // The sort is stable, so that equal qualities keep their order.
    choices.sort_by(|one, other| other.quality.total_cmp(&one.quality));
    choices
        .iter()
        .find_map(|choice| {
            let is_cbor = choice.media == CBOR;
            let form = form(choice).filter(|_| cbor || !is_cbor)?;
            Some((form, is_cbor))
        })
        .ok_or_else(|| {
            let offered = if cbor { ", application/cbor" } else { "" };
            ApiError::new(
                406,
                "NotAcceptable",
                format!("only the following media types are accepted: application/json{offered}"),
            )
        })
}

fn choice(text: &str) -> Option<Choice<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next().filter(|media| !media.is_empty())?;
    let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
    let quality = parameters.iter().find(|(name, _)| *name == "q");
    let quality = quality.map_or(Some(1.0), |(_, value)| value.parse().ok())?;
    (quality > 0.0).then_some(Choice {
        media,
        parameters,
        quality,
    })
}

fn form(choice: &Choice<'_>) -> Option<Form> {
    let parameter = |wanted: &str| {
        let found = choice.parameters.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, value)| *value)
    };
    if !matches!(
        choice.media,
        "application/json" | CBOR | "application/*" | "*/*"
    ) {
        return None;
    }
    let Some(wanted) = parameter("as") else {
        return Some(Form::Object);
    };
    let (group, version) = (parameter("g"), parameter("v"));
    if group != Some("meta.k8s.io") || !matches!(version, Some("v1" | "v1beta1")) {
        return None;
    }
    match wanted {
        // Tables in v1beta1 differ from v1 only in their name, and no client asks for that first.
        "Table" if version == Some("v1") => Some(Form::Table),
        "PartialObjectMetadata" if version == Some("v1") => Some(Form::Partial),
        "PartialObjectMetadataList" if version == Some("v1") => Some(Form::PartialList),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBECTL: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

    #[test]
    fn the_first_possible_form_wins() {
        for (accept, expected) in [
            ("", Form::Object),
            ("*/*", Form::Object),
            (KUBECTL, Form::Table),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                Form::Object,
            ),
            (
                "application/json;q=0.5,application/json;as=Table;v=v1;g=meta.k8s.io",
                Form::Table,
            ),
            (
                "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
                Form::Partial,
            ),
            (
                "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
                Form::PartialList,
            ),
            (
                "application/json;as=Unknown;v=v1;g=meta.k8s.io,application/json",
                Form::Object,
            ),
        ] {
            let chosen = negotiate(accept, false);
            assert_eq!(chosen, Ok((expected, false)), "{accept}");
        }
    }

    #[test]
    fn protobuf_alone_is_not_acceptable() {
        let answer = negotiate("application/vnd.kubernetes.protobuf", true);
        assert_eq!(answer.map_err(|error| error.code), Err(406));
    }

    #[test]
    fn cbor_is_chosen_if_the_server_offers_it() {
        let both = "application/json;q=0.9,application/cbor";
        for (accept, offered, expected) in [
            (both, true, Ok((Form::Object, true))),
            (both, false, Ok((Form::Object, false))),
            ("application/cbor", false, Err(406)),
            ("*/*", true, Ok((Form::Object, false))),
        ] {
            let chosen = negotiate(accept, offered);
            assert_eq!(chosen.map_err(|error| error.code), expected, "{accept}");
        }
    }
}
