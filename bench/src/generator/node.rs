//! Nodes as a kubelet registers them and keeps their status.

use serde_json::{Map, Value, json};

use super::{FIRST_VERSION, Random, app::App, managed_fields, random::suffix};

/// The number of images that a node reports; a kubelet reports at most 50.
const IMAGES: std::ops::Range<usize> = 40..51;

pub(super) fn node(apps: &[App], number: u64, random: &mut Random) -> Value {
    let name = format!("node-{}.cluster.example.com", suffix(number));
    let metadata = metadata(&name, number, random);
    let spec = json!({
        "podCIDR": format!("10.{}.{}.0/24", number / 256 % 256, number % 256),
        "podCIDRs": [format!("10.{}.{}.0/24", number / 256 % 256, number % 256)],
        "providerID": format!("example:///zone-{}/i-{}", random.below(3), random.hex(17)),
    });
    let status = status(apps, &name, random);
    let mut node = json!({"metadata": metadata, "spec": spec, "status": status});
    let registered = managed_fields::fields_of(&json!({
        "metadata": {"annotations": node["metadata"]["annotations"], "labels": node["metadata"]["labels"]},
        "spec": {"providerID": ""},
    }));
    let given = managed_fields::fields_of(&json!({"spec": {"podCIDR": "", "podCIDRs": ""}}));
    let mut reported = node["status"].clone();
    // Lists without keys are owned as a whole.
    for list in ["images", "volumesInUse", "volumesAttached"] {
        reported[list] = "".into();
    }
    let reported = managed_fields::fields_of(&json!({"status": reported}));
    node["metadata"]["managedFields"] = json!([
        managed_fields::entry("kubelet", None, registered, random),
        managed_fields::entry("kube-controller-manager", None, given, random),
        managed_fields::entry("kubelet", Some("status"), reported, random),
    ]);
    node
}

fn metadata(name: &str, number: u64, random: &mut Random) -> Value {
    let size = random.one_of(&["large", "xlarge", "2xlarge", "4xlarge"]);
    let zone = format!("region-1{}", random.one_of(&["a", "b", "c"]));
    let mut labels: Map<String, Value> = [
        ("beta.kubernetes.io/arch", "amd64"),
        ("beta.kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/hostname", name),
        ("node.kubernetes.io/instance-type", &format!("m7.{size}")),
        ("topology.kubernetes.io/region", "region-1"),
        ("topology.kubernetes.io/zone", &zone),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value.into()))
    .collect();
    for place in 0..random.long_tailed(2, 12) {
        let value = random.one_of(&["general", "batch", "memory", "edge"]);
        labels.insert(format!("pool.example.com/kind-{place}"), value.into());
    }
    let mut annotations: Map<String, Value> = [
        ("node.alpha.kubernetes.io/ttl", "0".to_owned()),
        (
            "volumes.kubernetes.io/controller-managed-attach-detach",
            "true".to_owned(),
        ),
        (
            "csi.volume.kubernetes.io/nodeid",
            format!("{{\"csi.example.com\":\"i-{}\"}}", random.hex(17)),
        ),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value.into()))
    .collect();
    for place in 0..random.long_tailed(1, 8) {
        let key = format!("network.example.com/setting-{place}");
        annotations.insert(key, random.hex(24).into());
    }
    json!({
        "name": name,
        "uid": random.uid(),
        "resourceVersion": (FIRST_VERSION + number).to_string(),
        "creationTimestamp": random.time(),
        "labels": labels,
        "annotations": annotations,
    })
}

fn status(apps: &[App], name: &str, random: &mut Random) -> Value {
    let address = format!("172.16.{}.{}", random.below(64), 1 + random.below(254));
    let (cores, memory) = (1 << (1 + random.below(6)), 1 + random.below(256));
    let resources = |held_back: usize| {
        json!({
            "cpu": format!("{}m", cores * 1000 - held_back),
            "memory": format!("{}Ki", (memory << 20) - held_back * 1000),
            "ephemeral-storage": (94_477_937_300_u64 - held_back as u64).to_string(),
            "hugepages-1Gi": "0",
            "hugepages-2Mi": "0",
            "pods": "110",
        })
    };
    let images: Vec<Value> = (0..IMAGES.start + random.below(IMAGES.len()))
        .map(|_| image(apps, random))
        .collect();
    let volumes: Vec<String> = (0..random.long_tailed(1, 12))
        .map(|_| format!("kubernetes.io/csi/csi.example.com^vol-{}", random.hex(17)))
        .collect();
    let attached: Vec<Value> = volumes
        .iter()
        .map(|volume| json!({"name": volume, "devicePath": ""}))
        .collect();
    json!({
        "addresses": [
            {"type": "InternalIP", "address": address},
            {"type": "InternalDNS", "address": name},
            {"type": "Hostname", "address": name},
        ],
        "allocatable": resources(80),
        "capacity": resources(0),
        "conditions": conditions(random),
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "images": images,
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": random.uid(),
            "containerRuntimeVersion": "containerd://2.1.4",
            "kernelVersion": "6.12.41-generic",
            "kubeProxyVersion": "",
            "kubeletVersion": "v1.36.2",
            "machineID": random.hex(32),
            "operatingSystem": "linux",
            "osImage": "Example Linux 2026.08",
            "systemUUID": random.uid(),
        },
        "volumesAttached": attached,
        "volumesInUse": volumes,
    })
}

fn conditions(random: &mut Random) -> Value {
    let changed = random.time();
    let condition = |kind: &str, status: &str, reason: &str, message: &str, seen: String| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": seen, "lastTransitionTime": changed,
        })
    };
    json!([
        condition(
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
            random.time()
        ),
        condition(
            "DiskPressure",
            "False",
            "KubeletHasNoDiskPressure",
            "kubelet has no disk pressure",
            random.time()
        ),
        condition(
            "PIDPressure",
            "False",
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available",
            random.time()
        ),
        condition(
            "Ready",
            "True",
            "KubeletReady",
            "kubelet is posting ready status",
            random.time()
        ),
    ])
}

/// Returns an image of an application's container, by its digest and by its tag.
fn image(apps: &[App], random: &mut Random) -> Value {
    let app = &apps[random.below(apps.len())];
    let container = &app.containers[random.below(app.containers.len())];
    let repository = container.image.split(':').next().unwrap_or_default();
    json!({
        "names": [format!("{repository}@sha256:{}", container.digest), container.image],
        "sizeBytes": 5_000_000 + random.below(900_000_000),
    })
}
