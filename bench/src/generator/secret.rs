//! Secrets.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use super::{FIRST_VERSION, Random, app::App, managed_fields, random::suffix};

/// The bytes of all keys of a large Secret in base64, as JSON has them: within what the API server accepts.
const LARGE: usize = 540 << 10;

/// Returns a Secret with one to three keys of a few hundred bytes, such as passwords and certificates.
pub(super) fn secret(app: &App, number: u64, random: &mut Random) -> Value {
    let sizes = (0..1 + random.below(3)).map(|_| 300 + random.below(600));
    of(app, number, &sizes.collect::<Vec<_>>(), random)
}

/// Returns a Secret with one to three large keys, as releases of charts and bundles of certificates have them.
pub(super) fn large(app: &App, number: u64, random: &mut Random) -> Value {
    let keys = 1 + random.below(3);
    of(app, number, &vec![LARGE / keys; keys], random)
}

/// Returns a Secret with a key of each size in base64. Nothing in it can be compressed.
fn of(app: &App, number: u64, sizes: &[usize], random: &mut Random) -> Value {
    let mut data = Map::new();
    for (place, size) in sizes.iter().enumerate() {
        // Four digits of base64 are three bytes.
        let bytes = random.bytes(size / 4 * 3);
        data.insert(format!("part-{place}"), STANDARD.encode(bytes).into());
    }
    let fields = managed_fields::fields_of(&json!({"data": data, "type": ""}));
    json!({
        "metadata": {
            "name": format!("{}-{}", app.name, suffix(number)),
            "namespace": app.namespace,
            "uid": random.uid(),
            "resourceVersion": (FIRST_VERSION + number).to_string(),
            "creationTimestamp": random.time(),
            "labels": {"app.kubernetes.io/name": app.name},
            "managedFields": [managed_fields::entry("kubectl-create", None, fields, random)],
        },
        "type": "Opaque",
        "data": data,
    })
}
