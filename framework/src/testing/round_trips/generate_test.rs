use fastrand::Rng;
use pilothouse_sandbox::internals::schema::Schema as ServerSchema;
use serde_json::json;

use super::generate::value;
use crate::{
    crd::{Describe, Schema},
    k8s::apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::Time},
    resource::duration,
};

#[test]
fn an_api_server_takes_the_values() {
    let described =
        |describe: Describe| json!(describe(&mut schemars::SchemaGenerator::default()).to_value());
    let duration = json!({"type": "string", "format": "duration", "pattern": duration::PATTERN});
    for schema in [
        described(<std::net::IpAddr as Schema>::describe),
        described(<Quantity as Schema>::describe),
        described(<Time as Schema>::describe),
        duration,
        json!({"type": "string", "nullable": true, "minLength": 3, "maxLength": 4}),
        json!({"x-kubernetes-int-or-string": true}),
    ] {
        let root = json!({"type": "object", "properties": {"value": schema}});
        let server = ServerSchema::from_json(&root).unwrap();
        for seed in 0..50 {
            let value = value(&schema, &mut Rng::with_seed(seed)).unwrap();
            let errors = server.validate(&json!({"value": value}), None);
            assert!(errors.is_empty(), "{schema}: {value}: {errors:?}");
        }
    }
}
