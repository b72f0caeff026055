use super::encoding::{Encoding, YAML};
use super::{cbor, protobuf};
use crate::error::ApiError;
use crate::table::MetaVersion;

/// The form of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The object itself.
    Object,
    /// A table for people, in this version.
    Table(MetaVersion),
    /// The metadata of one object.
    Partial(MetaVersion),
    /// The metadata of the objects of a list.
    PartialList(MetaVersion),
}

/// What a path of a built-in kind answers, by its verb. A real server looks at the media types of a path before it looks at
/// their parameters.
pub(super) fn declared(cbor: bool, verb: &str) -> Vec<&'static str> {
    let mut declared = vec!["application/json", YAML, protobuf::MEDIA];
    declared.extend(cbor.then_some(cbor::MEDIA));
    if matches!(verb, "list" | "watch") {
        declared.extend(["application/json;stream=watch", protobuf::WATCH]);
        declared.extend(cbor.then_some(cbor::SEQUENCE));
    }
    declared
}

/// Refuses a request that accepts none of these media types.
///
/// # Errors
/// 406.
pub(super) fn check(accept: &str, declared: &[&str]) -> Result<(), ApiError> {
    let mut accepted = accept
        .split(',')
        .map(|media| media.split(';').next().unwrap_or_default().trim());
    match accept.is_empty() || accepted.any(|media| media == "*/*" || declared.contains(&media)) {
        true => Ok(()),
        false => Err(ApiError::not_acceptable(declared)),
    }
}

struct Choice<'a> {
    media: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

/// The formats of objects that the server offers beside JSON.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub(super) cbor: bool,
    pub(super) protobuf: bool,
    /// Nobody can tell where an event of a watch ends in it.
    pub(super) yaml: bool,
}

/// Chooses form and format of the response from `Accept`: the first possible ones, by falling quality.
///
/// Partial metadata has a separate name for lists. Whether the request names the right one is checked when the response
/// is made. It has a form in protobuf even if the whole objects have none. Tables have none, and none in CBOR.
///
/// # Errors
/// 406 if no form is possible.
pub(super) fn negotiate(accept: &str, offer: &Offer) -> Result<(Form, Encoding), ApiError> {
    if accept.trim().is_empty() {
        return Ok((Form::Object, Encoding::Json));
    }
    let found = choices(accept).iter().find_map(|choice| {
        let (form, encoding) = (form(choice)?, encoding(choice, offer.cbor)?);
        let is_offered = match (encoding, form) {
            (Encoding::Protobuf, Form::Object) => offer.protobuf,
            (Encoding::Protobuf | Encoding::Cbor, Form::Table(_)) => false,
            (Encoding::Yaml, _) => offer.yaml,
            _ => true,
        };
        is_offered.then_some((form, encoding))
    });
    found.ok_or_else(|| {
        let cbor = if offer.cbor { ", application/cbor" } else { "" };
        let message = format!(
            "only the following media types are accepted: application/json, {YAML}, {}{cbor}",
            protobuf::MEDIA
        );
        ApiError::new(406, "NotAcceptable", message)
    })
}

/// The format of a document that has only one form, such as the `Status` of a failure: the first possible one, otherwise
/// JSON.
pub(super) fn of_document(accept: &str, cbor: bool) -> Encoding {
    let choices = choices(accept);
    let mut whole = choices
        .iter()
        .filter(|choice| form(choice) == Some(Form::Object));
    let found = whole.find_map(|choice| encoding(choice, cbor));
    found.unwrap_or(Encoding::Json)
}

fn choices(accept: &str) -> Vec<Choice<'_>> {
    let mut choices: Vec<Choice<'_>> = accept.split(',').filter_map(choice).collect();
    // The sort is stable, so that equal qualities keep their order.
    choices.sort_by(|one, other| other.quality.total_cmp(&one.quality));
    choices
}

fn choice(text: &str) -> Option<Choice<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next().filter(|media| !media.is_empty())?;
    let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
    let quality = parameters.iter().find(|(name, _)| *name == "q");
    let quality = quality.map_or(Some(1.0), |(_, value)| value.parse().ok())?;
    // A real server takes what has the quality 0, too.
    Some(Choice {
        media,
        parameters,
        quality,
    })
}

fn encoding(choice: &Choice<'_>, cbor: bool) -> Option<Encoding> {
    match choice.media {
        "application/json" | "application/*" | "*/*" => Some(Encoding::Json),
        YAML => Some(Encoding::Yaml),
        protobuf::MEDIA => Some(Encoding::Protobuf),
        cbor::MEDIA if cbor => Some(Encoding::Cbor),
        _ => None,
    }
}

fn form(choice: &Choice<'_>) -> Option<Form> {
    let parameter = |wanted: &str| {
        let found = choice.parameters.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, value)| *value)
    };
    let Some(wanted) = parameter("as") else {
        return Some(Form::Object);
    };
    let version = match (parameter("g")?, parameter("v")?) {
        ("meta.k8s.io", "v1") => MetaVersion::V1,
        ("meta.k8s.io", "v1beta1") => MetaVersion::V1beta1,
        _ => return None,
    };
    match wanted {
        "Table" => Some(Form::Table(version)),
        "PartialObjectMetadata" => Some(Form::Partial(version)),
        "PartialObjectMetadataList" => Some(Form::PartialList(version)),
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
            (KUBECTL, Form::Table(MetaVersion::V1)),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                Form::Object,
            ),
            (
                "application/json;q=0.5,application/json;as=Table;v=v1;g=meta.k8s.io",
                Form::Table(MetaVersion::V1),
            ),
            (
                "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
                Form::Partial(MetaVersion::V1),
            ),
            (
                "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
                Form::PartialList(MetaVersion::V1),
            ),
            (
                "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
                Form::Table(MetaVersion::V1beta1),
            ),
            (
                "application/json;as=Unknown;v=v1;g=meta.k8s.io,application/json",
                Form::Object,
            ),
        ] {
            let chosen = negotiate(accept, &JSON);
            assert_eq!(chosen, Ok((expected, Encoding::Json)), "{accept}");
        }
    }

    const JSON: Offer = Offer {
        cbor: false,
        protobuf: false,
        yaml: true,
    };

    #[test]
    fn protobuf_is_chosen_for_what_has_a_form_in_it() {
        const PARTIAL: &str =
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
        let whole = (Form::Object, Encoding::Protobuf);
        let partial = (Form::Partial(MetaVersion::V1), Encoding::Protobuf);
        let json = (Form::Object, Encoding::Json);
        let table = PARTIAL.replace("PartialObjectMetadata", "Table");
        for (accept, built_in, custom) in [
            (protobuf::MEDIA, Ok(whole), Err(406)),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                Ok(whole),
                Ok(json),
            ),
            (
                "application/vnd.kubernetes.protobuf;q=0.5,application/json",
                Ok(json),
                Ok(json),
            ),
            (protobuf::WATCH, Ok(whole), Err(406)),
            (PARTIAL, Ok(partial), Ok(partial)),
            (&table, Err(406), Err(406)),
            ("*/*", Ok(json), Ok(json)),
        ] {
            let chosen = |protobuf| {
                let offer = Offer { protobuf, ..JSON };
                negotiate(accept, &offer).map_err(|error| error.code)
            };
            assert_eq!(
                (chosen(true), chosen(false)),
                (built_in, custom),
                "{accept}"
            );
        }
    }

    #[test]
    fn a_document_has_the_first_format_of_whole_objects() {
        const PARTIAL: &str =
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
        for (accept, expected) in [
            ("", Encoding::Json),
            ("text/html", Encoding::Json),
            (protobuf::MEDIA, Encoding::Protobuf),
            (PARTIAL, Encoding::Json),
            ("application/json,application/cbor", Encoding::Json),
            ("application/cbor", Encoding::Cbor),
        ] {
            assert_eq!(of_document(accept, true), expected, "{accept}");
        }
        assert_eq!(of_document("application/cbor", false), Encoding::Json);
    }

    #[test]
    fn yaml_is_chosen_except_for_a_watch() {
        let chosen = |yaml| {
            let chosen = negotiate(YAML, &Offer { yaml, ..JSON });
            chosen.map_err(|error| error.message)
        };
        assert_eq!(chosen(true), Ok((Form::Object, Encoding::Yaml)));
        // As a real server, the message names what the server has at all.
        let refused = chosen(false).unwrap_err();
        assert!(refused.contains(YAML), "{refused}");
    }

    #[test]
    fn cbor_is_chosen_if_the_server_offers_it() {
        const TABLE: &str = "application/cbor;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1;g=meta.k8s.io";
        let both = "application/json;q=0.9,application/cbor";
        for (accept, cbor, expected) in [
            (both, true, Ok((Form::Object, Encoding::Cbor))),
            (both, false, Ok((Form::Object, Encoding::Json))),
            (
                TABLE,
                true,
                Ok((Form::Table(MetaVersion::V1), Encoding::Json)),
            ),
            ("application/cbor", false, Err(406)),
            ("*/*", true, Ok((Form::Object, Encoding::Json))),
        ] {
            let chosen = negotiate(accept, &Offer { cbor, ..JSON });
            assert_eq!(chosen.map_err(|error| error.code), expected, "{accept}");
        }
    }
}
