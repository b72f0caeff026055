//! The order of what a subset of Endpoints lists: that of the endpoints controller of kube-controller-manager.

use serde_json::Value;

/// Sorts addresses by the bytes of their IP address, and by the UID of their target.
pub(super) fn sort_addresses(addresses: &mut [Value]) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    addresses
        .sort_by_cached_key(|address| (text(&address["ip"]), text(&address["targetRef"]["uid"])));
}

/// Sorts ports by the hash that the controller computes from them.
pub(super) fn sort_ports(ports: &mut [Value]) {
    ports.sort_by_cached_key(|port| hash(&printed(port)));
}

/// A port as the controller prints it before it computes the hash. A name that is missing is empty.
fn printed(port: &Value) -> String {
    let text = |field: &str| port[field].as_str().unwrap_or_default();
    let number = port["port"].as_i64().unwrap_or_default();
    let protocol = port["appProtocol"].as_str().unwrap_or("<nil>");
    format!(
        "(v1.EndpointPort){{Name:(string){} Port:(int32){number} Protocol:(v1.Protocol){} AppProtocol:(*string){protocol}}}",
        text("name"),
        text("protocol"),
    )
}

/// The hash FNV-1a with 128 bits.
fn hash(text: &str) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = (1 << 88) + 0x13b;
    let step = |hash: u128, byte: u8| (hash ^ u128::from(byte)).wrapping_mul(PRIME);
    text.bytes().fold(BASIS, step)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hash_of_a_port_is_that_of_the_controller() {
        // Computed with k8s.io/utils/dump and hash/fnv.
        for (port, expected) in [
            (
                json!({"name": "http", "port": 8080, "protocol": "TCP"}),
                0x2530_4a33_da9e_6ece_350a_4142_a45f_5b75,
            ),
            (
                json!({"port": 80, "protocol": "UDP"}),
                0xb698_7d21_d43e_3a89_fd18_dbe7_be1d_c4c1,
            ),
            (
                json!({"name": "metrics", "port": 9001, "protocol": "TCP", "appProtocol": "kubernetes.io/h2c"}),
                0x2855_f638_f923_2227_f3e0_228c_4624_eef9,
            ),
        ] {
            assert_eq!(hash(&printed(&port)), expected, "{port}");
        }
    }

    #[test]
    fn addresses_are_sorted_as_texts() {
        let address = |ip: &str, uid: &str| json!({"ip": ip, "targetRef": {"uid": uid}});
        let mut all = vec![
            address("10.0.0.9", "a"),
            address("10.0.0.10", "c"),
            address("10.0.0.10", "b"),
            json!({"ip": "10.0.0.10"}),
        ];
        sort_addresses(&mut all);
        let expected = [
            json!({"ip": "10.0.0.10"}),
            address("10.0.0.10", "b"),
            address("10.0.0.10", "c"),
            address("10.0.0.9", "a"),
        ];
        assert_eq!(all, expected);
    }
}
