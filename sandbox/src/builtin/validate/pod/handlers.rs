use super::super::network::port_name;
use super::super::part::Part;
use crate::names;
use crate::schema::FieldError;

/// The handlers in the order of a real server. A probe cannot sleep, and a hook cannot call gRPC.
const HANDLERS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

/// The probes of a container. `grace` is the termination grace period of its Pod.
pub(super) fn probes(container: &Part, grace: Option<i64>, found: &mut Vec<FieldError>) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = container.set(name) else {
            continue;
        };
        handler(&probe, grace, found);
        for field in [
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ] {
            probe.get(field).not_negative(found);
        }
        let own_grace = probe.get("terminationGracePeriodSeconds");
        if own_grace.number().is_some_and(|seconds| seconds <= 0) {
            own_grace.invalid("must be greater than 0", found);
        }
        if name == "readinessProbe" {
            if own_grace.is_set() {
                own_grace.invalid("must not be set for readinessProbes", found);
            }
        } else if probe.number_of("successThreshold") != Some(1) {
            probe.get("successThreshold").invalid("must be 1", found);
        }
    }
}

/// The lifecycle hooks of a container.
pub(super) fn lifecycle(
    container: &Part,
    grace: Option<i64>,
    system: Option<&str>,
    found: &mut Vec<FieldError>,
) {
    let Some(lifecycle) = container.set("lifecycle") else {
        return;
    };
    for name in ["postStart", "preStop"] {
        if let Some(hook) = lifecycle.set(name) {
            handler(&hook, grace, found);
        }
    }
    let Some(signal) = lifecycle.set("stopSignal") else {
        return;
    };
    match system {
        None => signal.forbidden(
            "may not be set for containers with empty `spec.os.name`",
            found,
        ),
        Some("windows") => signal.one_of(&["SIGKILL", "SIGTERM"], found),
        Some("linux") => {
            let known = linux_signals();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            signal.one_of(&known, found);
        }
        Some(_) => {}
    }
}

/// The signals of Linux, in alphabetical order.
fn linux_signals() -> Vec<String> {
    const PLAIN: &str = "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS \
                         TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX";
    let plain = PLAIN.split_whitespace().map(|name| format!("SIG{name}"));
    let from_least = (1..=15).map(|number| format!("SIGRTMIN+{number}"));
    let from_most = (1..=14).map(|number| format!("SIGRTMAX-{number}"));
    let mut all: Vec<String> = plain.chain(from_least).chain(from_most).collect();
    all.sort();
    all
}

fn handler(owner: &Part, grace: Option<i64>, found: &mut Vec<FieldError>) {
    let given = HANDLERS.iter().filter_map(|name| owner.set(name));
    let mut count = 0;
    for (index, action) in given.enumerate() {
        count += 1;
        if index > 0 {
            action.forbidden("may not specify more than 1 handler type", found);
            continue;
        }
        match action.path.rsplit('.').next() {
            Some("exec") => {
                if action.list("command").is_empty() {
                    action.get("command").missing("", found);
                }
            }
            Some("httpGet") => http_get(&action, found),
            Some("sleep") => {
                let seconds = action.get("seconds").named_as(&action.path);
                if let (Some(grace), Some(number)) = (grace, seconds.number())
                    && !(0..=grace).contains(&number)
                {
                    let detail = format!(
                        "must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                    );
                    seconds.invalid(detail, found);
                }
            }
            _ => port(&action.get("port"), found),
        }
    }
    if count == 0 {
        owner.missing("must specify a handler type", found);
    }
}

fn http_get(action: &Part, found: &mut Vec<FieldError>) {
    action.get("path").required(found);
    port(&action.get("port"), found);
    action.get("scheme").one_of(&["HTTP", "HTTPS"], found);
    let headers = action.get("httpHeaders").path;
    for header in action.items("httpHeaders") {
        header
            .get("name")
            .named_as(&headers)
            .name(names::http_header, found);
    }
}

/// A port by number or name.
fn port(port: &Part, found: &mut Vec<FieldError>) {
    if port.value.is_string() {
        port.name(port_name, found);
    } else {
        match port.number() {
            Some(_) => port.within(1, 65535, found),
            None => port.invalid_as(0, "must be between 1 and 65535, inclusive", found),
        }
    }
}
