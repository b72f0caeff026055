use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::LazyLock;

use serde::Deserialize;

/// A field of an internal type.
#[derive(Deserialize)]
#[serde(from = "[String; 3]")]
pub(super) struct Field {
    /// How it is shown.
    pub(super) shown: String,
    /// Its name in the API.
    pub(super) name: String,
    /// Whether it is left out if it has no value.
    pub(super) optional: bool,
    pub(super) kind: String,
}

impl From<[String; 3]> for Field {
    fn from([shown, name, kind]: [String; 3]) -> Self {
        Self {
            shown,
            name,
            optional: kind.starts_with('?'),
            kind: kind.trim_start_matches('?').to_owned(),
        }
    }
}

#[derive(Deserialize)]
struct Data {
    types: BTreeMap<String, Vec<Field>>,
}

// A constant of the build, and the tests of `shown.rs` read it: reading it cannot fail at run time.
static DATA: LazyLock<Data> = LazyLock::new(|| {
    let packed: &[u8] = include_bytes!("../data/internal.json.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_string(&mut text)
        .expect("embedded internal.json.gz");
    serde_json::from_str(&text).expect("embedded internal types")
});

/// The fields of a struct, such as `core.PodSpec`.
pub(super) fn fields(name: &str) -> Option<&'static [Field]> {
    DATA.types.get(name).map(Vec::as_slice)
}
