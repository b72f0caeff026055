use super::super::fields::address;
use super::super::part::Part;
use crate::names;
use crate::schema::FieldError;

const POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/// In the network of the node, a container listens at its own port. A template may leave this to the Pod.
pub(super) fn host_ports(spec: &Part, in_pod: bool, found: &mut Vec<FieldError>) {
    if !spec.is_true("hostNetwork") {
        return;
    }
    for container in spec.items("containers") {
        for port in container.items("ports") {
            let host = port.get("hostPort");
            let number = host.number().unwrap_or(0);
            let own = port.number_of("containerPort").unwrap_or(0);
            if (in_pod || number != 0) && number != own {
                let detail = "must match `containerPort` when `hostNetwork` is true";
                host.invalid_as(number, detail, found);
            }
        }
    }
}

pub(super) fn dns_policy(spec: &Part, found: &mut Vec<FieldError>) {
    spec.get("dnsPolicy").choice(&POLICIES, found);
}

/// What containers know of DNS.
pub(super) fn dns_config(spec: &Part, found: &mut Vec<FieldError>) {
    const MOST_SERVERS: usize = 3;
    const MOST_SEARCHES: usize = 32;
    const LONGEST_SEARCHES: usize = 2048;
    let config = spec.get("dnsConfig");
    if spec.text_of("dnsPolicy") == "None" {
        if !config.is_set() {
            let detail = "must provide `dnsConfig` when `dnsPolicy` is None";
            return config.missing(detail, found);
        }
        if config.list("nameservers").is_empty() {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            return config.get("nameservers").missing(detail, found);
        }
    }
    if config.list("nameservers").len() > MOST_SERVERS {
        let detail = "must not have more than 3 nameservers";
        config.get("nameservers").invalid(detail, found);
    }
    for server in config.items("nameservers") {
        address(server.text(), &server.path, found);
    }
    let searches = config.list("searches");
    if searches.len() > MOST_SEARCHES {
        let detail = "must not have more than 32 search paths";
        config.get("searches").invalid(detail, found);
    }
    let length = |search: &serde_json::Value| search.as_str().map_or(0, str::len) + 1;
    if searches.iter().map(length).sum::<usize>() > LONGEST_SEARCHES + 1 {
        let detail =
            "must not have more than 2048 characters (including spaces) in the search list";
        config.get("searches").invalid(detail, found);
    }
    for search in config.items("searches") {
        let text = search.text();
        if text != "." {
            let text = text.strip_suffix('.').unwrap_or(text);
            for wrong in names::dns_subdomain_with_underscore(text) {
                search.invalid_as(text, wrong, found);
            }
        }
    }
    for option in config.items("options") {
        if option.text_of("name").is_empty() {
            option.missing("must not be empty", found);
        }
    }
}

/// A host name in place of that of the Pod.
pub(super) fn host_name_override(spec: &Part, found: &mut Vec<FieldError>) {
    let Some(name) = spec.set("hostnameOverride") else {
        return;
    };
    if spec.is_true("setHostnameAsFQDN") {
        name.forbidden("may not be specified when setHostnameAsFQDN is true", found);
    }
    if spec.is_true("hostNetwork") {
        name.forbidden("may not be specified when hostNetwork is true", found);
    }
    if name.text().len() > 64 {
        found.push(FieldError::too_long(&name.path, 64));
    }
    name.name(names::dns_subdomain, found);
}
