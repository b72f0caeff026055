use serde::{Deserialize, Serialize, de::DeserializeSeed};
use serde_json::{error::Category, value::RawValue};

use super::{Codec, Unwritable};
use crate::resource::misfit;

/// JSON: the text is checked for UTF-8 once.
#[derive(Clone, Copy)]
pub(crate) struct Json;

#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct JsonRaw<'a>(#[serde(borrow)] &'a RawValue);

impl AsRef<[u8]> for JsonRaw<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0.get().as_bytes()
    }
}

impl Codec for Json {
    type Raw<'de> = JsonRaw<'de>;

    fn read<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        seed: S,
    ) -> Result<S::Value, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?;
        let mut inner = serde_json::Deserializer::from_str(text);
        let value = seed.deserialize(&mut inner);
        let whole = value.and_then(|value| inner.end().map(|()| value));
        whole.map_err(|error| reason(&error))
    }

    fn write<T: Serialize + ?Sized>(self, value: &T) -> Result<Vec<u8>, Unwritable> {
        serde_json::to_vec(value).map_err(|_| Unwritable)
    }
}

fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match error.classify() {
        Category::Data => misfit(&text),
        Category::Eof => "the JSON ends too early".to_owned(),
        // A syntax error's text is from serde_json itself and quotes nothing.
        Category::Syntax | Category::Io => format!("not JSON: {text}"),
    }
}
