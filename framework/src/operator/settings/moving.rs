use clap::{Arg, ArgAction, ArgMatches, Command, error::Error};

use super::{command::operator_namespace, election, setting::error};
use crate::{
    operator::moving::{FinalizerExchange, LeaseName},
    resource::{Selector, dns},
};

/// The flag that agrees to the changes.
pub(in crate::operator) const YES: &str = "yes";
/// The flag that skips the search for a running operator.
pub(in crate::operator) const FORCE: &str = "force";
/// The flags and the argument of `adopt-from`.
const MANAGER: &str = "manager";
const FINALIZER: &str = "finalizer";
const LEASE: &str = "lease";
const SELECTOR: &str = "selector";

/// The settings of `run` that make a difference to both commands, and the flags for the connection.
pub(super) const SETTINGS: [&str; 3] = ["kubeconfig", "context", "namespace"];

/// The largest number of characters of a field manager.
const LONGEST_MANAGER: usize = 128;

/// Completes what both commands have in common.
fn connected(command: Command) -> Command {
    command.mut_arg("namespace", |arg| {
        arg.help("Change only objects in this namespace, or in several: one,other [default: those of the operator]")
    })
}

fn yes() -> Arg {
    Arg::new(YES).long(YES).action(ArgAction::SetTrue)
}

/// Completes the command `uninstall`.
pub(super) fn uninstall(command: Command, name: &str) -> Command {
    let with_lease = connected(command).mut_args(|arg| {
        match ["leader-elect", "lease-name", "lease-namespace"].contains(&arg.get_id().as_str()) {
            true => arg.hide(false),
            false => arg,
        }
    });
    with_lease
        .about("Remove the operator's finalizers from all objects, and print the commands that delete the rest")
        .arg(operator_namespace(name))
        .arg(yes().help("Remove the finalizers without a question"))
        .arg(
            Arg::new(FORCE)
                .long(FORCE)
                .action(ArgAction::SetTrue)
                .help("Do so although the operator seems to run"),
        )
}

/// Completes the command `adopt-from`.
pub(super) fn adopt_from(command: Command) -> Command {
    connected(command)
        .about("Show what it takes to take over the objects of another operator, or do it with --yes")
        .arg(
            Arg::new(MANAGER)
                .value_name("MANAGER")
                .required(true)
                .value_parser(parse_manager)
                .help("The field manager of the other operator, such as `manager`"),
        )
        .arg(
            Arg::new(FINALIZER)
                .long(FINALIZER)
                .value_name("OLD[=NEW]")
                .action(ArgAction::Append)
                .value_parser(parse_exchange)
                .help("Replace this finalizer by that of this operator; NEW says which one if a controller has several"),
        )
        .arg(
            Arg::new(LEASE)
                .long(LEASE)
                .value_name("[NAMESPACE/]NAME")
                .value_parser(parse_lease)
                .help("The Lease of the other operator: refuse to work while it is held"),
        )
        .arg(
            Arg::new(SELECTOR)
                .long(SELECTOR)
                .value_name("LABELS")
                .value_parser(parse_selector)
                .help("Also take over objects of the written kinds that no object of this operator owns, if these labels match"),
        )
        .arg(yes().help("Make the changes"))
}

/// The flags of `adopt-from` beside those of `run`.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::operator) struct AdoptFlags {
    pub(in crate::operator) manager: String,
    pub(in crate::operator) finalizers: Vec<FinalizerExchange>,
    pub(in crate::operator) lease: Option<LeaseName>,
    pub(in crate::operator) selector: Option<Selector>,
    pub(in crate::operator) is_confirmed: bool,
}

impl AdoptFlags {
    /// # Errors
    /// An error if no field manager is given, or one of this operator.
    pub(in crate::operator) fn read(operator: &str, matches: &ArgMatches) -> Result<Self, Error> {
        let Some(manager) = matches.get_one::<String>(MANAGER) else {
            return Err(error(format!(
                "adopt-from needs the field manager of the other operator: `{operator} adopt-from manager`; \
                 `kubectl get KIND NAME --show-managed-fields -o yaml` shows it"
            )));
        };
        if [operator, &format!("{operator}-conditions")].contains(&manager.as_str()) {
            return Err(error(format!(
                "`{manager}` is a field manager of this operator: name that of the other one"
            )));
        }
        let finalizers = matches.get_many::<FinalizerExchange>(FINALIZER);
        Ok(Self {
            manager: manager.clone(),
            finalizers: finalizers.into_iter().flatten().cloned().collect(),
            lease: matches.get_one(LEASE).cloned(),
            selector: matches.get_one(SELECTOR).cloned(),
            is_confirmed: matches.get_flag(YES),
        })
    }
}

fn parse_manager(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("the name is empty: `kubectl get KIND NAME --show-managed-fields -o yaml` shows the field managers of an object".into());
    }
    if text.chars().count() > LONGEST_MANAGER {
        return Err(format!(
            "the name of a field manager has at most {LONGEST_MANAGER} characters"
        ));
    }
    Ok(text.to_owned())
}

fn parse_exchange(text: &str) -> Result<FinalizerExchange, String> {
    let (former, new) = match text.split_once('=') {
        Some((former, new)) => (former, Some(new)),
        None => (text, None),
    };
    if former.is_empty() || new.is_some_and(str::is_empty) {
        return Err("write OLD or OLD=NEW, such as `example.com/old=example.com/new`".into());
    }
    Ok(FinalizerExchange {
        former: former.to_owned(),
        new: new.map(str::to_owned),
    })
}

fn parse_lease(text: &str) -> Result<LeaseName, String> {
    let (namespace, name) = match text.split_once('/') {
        Some((namespace, name)) => (Some(election::parse_namespace(namespace)?), name),
        None => (None, text),
    };
    let checked = dns::check_subdomain(name);
    checked.map_err(|rule| format!("the name of a Lease {rule}"))?;
    Ok(LeaseName {
        namespace,
        name: name.to_owned(),
    })
}

fn parse_selector(text: &str) -> Result<Selector, String> {
    if text.trim().is_empty() {
        return Err("an empty selector selects all objects: name labels, such as `app=web`".into());
    }
    let selector = text.parse::<Selector>();
    selector.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_manager_is_named_as_the_api_server_accepts_it() {
        assert_eq!(parse_manager("manager"), Ok("manager".to_owned()));
        let empty = parse_manager(" ").unwrap_err();
        assert!(empty.starts_with("the name is empty: "), "{empty}");
        assert!(parse_manager(&"a".repeat(128)).is_ok());
        let long = parse_manager(&"a".repeat(129)).unwrap_err();
        assert_eq!(
            long,
            "the name of a field manager has at most 128 characters"
        );
    }

    #[test]
    fn a_finalizer_may_be_followed_by_the_one_that_replaces_it() {
        let exchange = |former: &str, new: Option<&str>| FinalizerExchange {
            former: former.to_owned(),
            new: new.map(str::to_owned),
        };
        assert_eq!(parse_exchange("a.b/c"), Ok(exchange("a.b/c", None)));
        assert_eq!(parse_exchange("a=b"), Ok(exchange("a", Some("b"))));
        for wrong in ["", "=b", "a="] {
            assert!(parse_exchange(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_lease_may_be_named_with_its_namespace() {
        let lease = |namespace: Option<&str>| LeaseName {
            namespace: namespace.map(str::to_owned),
            name: "5a1f.example.com".to_owned(),
        };
        assert_eq!(parse_lease("5a1f.example.com"), Ok(lease(None)));
        assert_eq!(parse_lease("ops/5a1f.example.com"), Ok(lease(Some("ops"))));
        for wrong in ["", "/a", "ops/", "Ops/a", "ops/A", "a/b/c"] {
            assert!(parse_lease(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_empty_selector_is_refused() {
        assert!(parse_selector("app=web").is_ok());
        assert!(parse_selector(" ").is_err());
    }
}
