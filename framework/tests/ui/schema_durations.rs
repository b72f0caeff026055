use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use pilothouse::Schema;
use serde::{Deserialize, Serialize};

#[derive(Schema, Deserialize, Serialize)]
struct Spec {
    timeout: Duration,
    pause: Option<Duration>,
    steps: BTreeMap<String, Vec<Duration>>,
    since: SystemTime,
}

#[derive(Schema, Deserialize, Serialize)]
struct WithoutDefault {
    #[serde(with = "pilothouse::resource::duration")]
    pause: Option<Duration>,
}

mod hex {
    pub fn serialize<S: serde::Serializer>(_: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("")
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(_: D) -> Result<Vec<u8>, D::Error> {
        Ok(Vec::new())
    }
}

#[derive(Schema, Deserialize, Serialize)]
struct WithoutForm {
    #[serde(with = "hex")]
    key: Vec<u8>,
}

#[derive(Schema, Deserialize, Serialize)]
struct NotADuration {
    #[serde(with = "pilothouse::resource::duration")]
    timeout: u64,
}

fn main() {}
