use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::{ArgMatches, Args, Command};
use clap_complete::Shell;

use super::{
    Serving, WebhookServing,
    logs::{Filter, LogFormat},
    monitoring::AlertsFormat,
    output::Output,
    settings::{
        AdoptFlags, CHECK, COMPATIBLE_WITH, CREATE_NAMESPACE, Defaults, ElectionFlags, Environment,
        FORCE, HANDOVER, INSTALL, MIGRATE, MetricsAddress, OPERATOR_NAMESPACE, OUTPUT, POD_MONITOR,
        PROMETHEUS_RULE, ServingFlags, Settings, YES, command, container_arguments, error, print,
        read_webhook_serving,
    },
    version,
};
use crate::{
    client::KubeconfigOptions,
    manifests::{Chart, is_of_every_cluster},
    server::Address,
};

/// A parsed command line.
#[derive(Debug)]
pub(super) struct CommandLine {
    pub(super) action: CommandAction,
    pub(super) settings: Settings,
}

/// The API server of `dev`.
#[derive(Debug, Default, PartialEq)]
pub(super) struct DevOptions {
    /// The kubeconfig of a running server; without it `dev` starts one.
    pub(super) kubeconfig: Option<PathBuf>,
    pub(super) port: u16,
    /// Files to install before the operator starts.
    pub(super) install: Vec<PathBuf>,
    /// The folder that keeps the objects.
    pub(super) data: Option<PathBuf>,
    /// The folder of the tool that leads from the process before this one to this one.
    pub(super) handover: Option<PathBuf>,
}

/// The subcommand with its flags.
#[derive(Debug, PartialEq)]
pub(super) enum CommandAction {
    /// Runs the operator against a cluster.
    Run {
        kubeconfig: KubeconfigOptions,
        options: RunOptions,
    },
    /// Runs the operator against an API server for development.
    Dev {
        server: DevOptions,
        options: RunOptions,
    },
    /// Tries the operator, and lists what should be better.
    Scorecard {
        files: Vec<PathBuf>,
        options: RunOptions,
    },
    /// Prints the definitions of the operator's kinds.
    Crd {
        check: Option<PathBuf>,
        /// Older definitions.
        compatible_with: Option<PathBuf>,
    },
    /// Installs the definitions in a cluster.
    InstallDefinitions {
        kubeconfig: KubeconfigOptions,
        is_forced: bool,
    },
    /// Writes the stored objects of the operator's kinds again.
    MigrateObjects { kubeconfig: KubeconfigOptions },
    /// Prints the roles.
    Rbac(RolesOptions),
    /// Prints everything that the operator needs in a cluster.
    Manifests(ManifestsOptions),
    /// Prints the alerts.
    Alerts {
        format: AlertsFormat,
        check: Option<PathBuf>,
    },
    /// Prints the dashboard.
    Dashboard { check: Option<PathBuf> },
    /// Removes the operator's finalizers.
    Uninstall(UninstallOptions),
    /// Takes over the objects of another operator.
    AdoptFrom {
        kubeconfig: KubeconfigOptions,
        flags: AdoptFlags,
        /// How this operator runs.
        roles: RolesOptions,
    },
    /// Prints this text: the settings, the versions, or shell completions.
    Print(String),
    /// Runs a subcommand of the program's own.
    Own {
        name: String,
        kubeconfig: KubeconfigOptions,
    },
}

/// What `rbac` prints.
#[derive(Debug, PartialEq)]
pub(super) struct RolesOptions {
    /// The namespace of the operator's pods.
    pub(super) namespace: String,
    /// Whether the operator installs its own definitions.
    pub(super) installs: bool,
    /// The file to compare with.
    pub(super) check: Option<PathBuf>,
    /// How the operator runs.
    pub(super) run: RunOptions,
}

/// What `uninstall` does.
#[derive(Debug, PartialEq)]
pub(super) struct UninstallOptions {
    pub(super) kubeconfig: KubeconfigOptions,
    /// How the operator ran.
    pub(super) roles: RolesOptions,
    pub(super) is_confirmed: bool,
    pub(super) is_forced: bool,
}

/// What `manifests` prints.
#[derive(Debug, PartialEq)]
pub(super) struct ManifestsOptions {
    pub(super) roles: RolesOptions,
    pub(super) image: String,
    pub(super) replicas: i32,
    /// Whether the namespace of the pods is printed although it may be shared.
    pub(super) creates_namespace: bool,
    pub(super) service_monitor: bool,
    pub(super) pod_monitor: bool,
    pub(super) output: Output,
    pub(super) prometheus_rule: bool,
    /// The arguments of the container.
    pub(super) args: Vec<String>,
}

/// The options that `run` and `dev` have in common.
#[derive(Debug, PartialEq)]
pub(super) struct RunOptions {
    pub(super) namespaces: BTreeSet<String>,
    pub(super) election: Option<ElectionFlags>,
    pub(super) metrics_address: Option<Address>,
    pub(super) serving: ServingFlags,
    /// `None` if the program has no webhooks.
    pub(super) webhooks: Option<WebhookServing>,
    pub(super) log: Filter,
    pub(super) log_format: LogFormat,
}

impl CommandLine {
    /// Parses a command line, which starts with the program's name, and adds settings from the environment and a file.
    ///
    /// # Errors
    /// clap's error if the line is invalid or asks for help.
    pub(super) fn parse<F: Args>(
        name: &str,
        defaults: &Defaults,
        line: impl IntoIterator<Item = impl Into<OsString>>,
        environment: &Environment<'_>,
    ) -> Result<Self, clap::Error> {
        let grammar = command::<F>(name, defaults);
        let line = line.into_iter().map(Into::into).collect();
        let settings = Settings::resolve(name, grammar.clone(), line, Some(environment))?;
        let matches = &settings.matches;
        let options = || RunOptions::read(name, defaults, &settings);
        let action = match settings.subcommand.as_deref() {
            Some("crd") => match matches.subcommand() {
                Some((INSTALL, matches)) => CommandAction::InstallDefinitions {
                    kubeconfig: kubeconfig(matches),
                    is_forced: matches.get_flag(FORCE),
                },
                Some((MIGRATE, matches)) => CommandAction::MigrateObjects {
                    kubeconfig: kubeconfig(matches),
                },
                _ => CommandAction::Crd {
                    check: check(matches),
                    compatible_with: matches.get_one::<PathBuf>(COMPATIBLE_WITH).cloned(),
                },
            },
            Some("rbac") => CommandAction::Rbac(RolesOptions {
                namespace: operator_namespace(name, matches),
                installs: matches.get_flag("install-definitions"),
                check: check(matches),
                run: options()?,
            }),
            Some("manifests") => {
                let args = container_arguments(&grammar, matches)?;
                let run = [name.to_owned()].into_iter().chain(args.clone());
                let run = run.map(OsString::from).collect();
                let run = Settings::resolve(name, grammar.clone(), run, None)?;
                let run = RunOptions::read(name, defaults, &run)?;
                CommandAction::Manifests(ManifestsOptions::read(name, matches, args, run)?)
            }
            Some("alerts") => CommandAction::Alerts {
                format: match matches.get_flag(PROMETHEUS_RULE) {
                    true => AlertsFormat::PrometheusRule {
                        namespace: operator_namespace(name, matches),
                    },
                    false => AlertsFormat::RuleFile,
                },
                check: check(matches),
            },
            Some("dashboard") => CommandAction::Dashboard {
                check: check(matches),
            },
            Some("uninstall") => CommandAction::Uninstall(UninstallOptions {
                kubeconfig: kubeconfig(matches),
                roles: RolesOptions {
                    namespace: operator_namespace(name, matches),
                    installs: false,
                    check: None,
                    run: options()?,
                },
                is_confirmed: matches.get_flag(YES),
                is_forced: matches.get_flag(FORCE),
            }),
            Some("adopt-from") => CommandAction::AdoptFrom {
                kubeconfig: kubeconfig(matches),
                flags: AdoptFlags::read(name, matches)?,
                roles: RolesOptions {
                    namespace: format!("{name}-system"),
                    installs: false,
                    check: None,
                    run: options()?,
                },
            },
            Some(own) if defaults.subcommands.iter().any(|one| one.get_name() == own) => {
                CommandAction::Own {
                    name: own.to_owned(),
                    kubeconfig: kubeconfig(matches),
                }
            }
            Some("version") => {
                let version = version::text(defaults.version.as_deref());
                CommandAction::Print(format!("{name} {version}\n"))
            }
            Some("completions") => {
                let shell = matches.get_one::<Shell>("shell");
                CommandAction::Print(completions(shell.copied(), grammar))
            }
            _ if matches.get_flag("print-settings") => {
                // Invalid settings are reported here too.
                options()?;
                CommandAction::Print(print(&settings.resolved))
            }
            Some("dev") => CommandAction::Dev {
                server: DevOptions {
                    kubeconfig: matches.get_one("api-server-kubeconfig").cloned(),
                    port: matches.get_one("port").copied().unwrap_or_default(),
                    install: matches
                        .get_many("install")
                        .into_iter()
                        .flatten()
                        .cloned()
                        .collect(),
                    data: matches.get_one("data").cloned(),
                    handover: matches.get_one(HANDOVER).cloned(),
                },
                options: options()?,
            },
            Some("scorecard") => CommandAction::Scorecard {
                files: matches
                    .get_many("files")
                    .into_iter()
                    .flatten()
                    .cloned()
                    .collect(),
                options: options()?,
            },
            _ => CommandAction::Run {
                kubeconfig: kubeconfig(matches),
                options: options()?,
            },
        };
        Ok(Self { action, settings })
    }
}

impl ManifestsOptions {
    fn read(
        operator: &str,
        matches: &ArgMatches,
        args: Vec<String>,
        run: RunOptions,
    ) -> Result<Self, clap::Error> {
        let image = matches.get_one::<String>("image").map(|image| image.trim());
        let Some(image) = image.filter(|image| !image.is_empty()) else {
            return Err(error(format!(
                "manifests needs the image of the operator: `{operator} manifests --image registry.example.com/{operator}:1.0`"
            )));
        };
        let replicas = matches.get_one("replicas").copied().unwrap_or(1);
        if replicas > 1 && run.election.is_none() {
            return Err(error(format!(
                "--replicas is {replicas}, but without the leader election all of them would work at the same time: remove \
                 --leader-elect=false, or use one replica"
            )));
        }
        let service_monitor = matches.get_flag("service-monitor");
        let pod_monitor = matches.get_flag(POD_MONITOR);
        let prometheus_rule = matches.get_flag(PROMETHEUS_RULE);
        for (flag, is_given) in [
            ("service-monitor", service_monitor),
            (POD_MONITOR, pod_monitor),
            (PROMETHEUS_RULE, prometheus_rule),
        ] {
            if is_given && run.metrics_address.is_none() {
                return Err(error(format!(
                    "--{flag} has no effect because --metrics-address is 0"
                )));
            }
        }
        if pod_monitor && run.serving.serving.is_authorized() {
            return Err(error(format!(
                "--{POD_MONITOR} cannot read metrics with --metrics-auth, because a PodMonitor does not send the token of Prometheus: write \
                 --service-monitor instead"
            )));
        }
        if let Some(address) = run.metrics_address
            && !is_reachable(address)
        {
            return Err(error(format!(
                "the kubelet cannot reach metrics and health at --metrics-address {address}: write a port for every address, such as \
                     `:8080`, or 0 to turn them off"
            )));
        }
        let webhooks = run.webhooks.as_ref();
        if let Some(address) = webhooks.map(|webhooks| webhooks.address)
            && !is_reachable(address)
        {
            return Err(error(format!(
                "the API server cannot reach webhooks at --webhook-address {address}: write a port for every address, such as `:9443`"
            )));
        }
        if let (Some(metrics), Some(webhooks)) = (run.metrics_address, webhooks)
            && metrics.port == webhooks.address.port
        {
            return Err(error(format!(
                "--metrics-address and --webhook-address have the same port, {}: give one of them another port",
                metrics.port
            )));
        }
        let webhooks = webhooks.and_then(|webhooks| webhooks.certificates.as_deref());
        let metrics = match run.metrics_address {
            Some(_) => mounted_folder(&run.serving.serving)?,
            None => None,
        };
        if let (Some(metrics), Some(webhooks)) = (metrics, webhooks)
            && (metrics.starts_with(webhooks) || webhooks.starts_with(metrics))
        {
            return Err(error(format!(
                "two Secrets cannot be mounted at --metrics-cert-path {} and --webhook-certificate-dir {}: write two folders, neither of \
                 them in the other one",
                metrics.display(),
                webhooks.display()
            )));
        }
        for (flag, folder) in [
            ("metrics-cert-path", metrics),
            ("webhook-certificate-dir", webhooks),
        ] {
            // Only such a path can be that of a mounted Secret.
            let is_possible = |folder: &Path| folder.is_absolute() && folder.parent().is_some();
            if let Some(folder) = folder
                && (!is_possible(folder) || folder.to_str().is_none())
            {
                return Err(error(format!(
                    "a Secret with the certificate cannot be mounted at `{}`: write an absolute path, such as --{flag} /certificate",
                    folder.display()
                )));
            }
        }
        let output = output(operator, matches)?;
        let creates_namespace = matches.get_flag(CREATE_NAMESPACE);
        let given: BTreeSet<String> = matches
            .get_many::<String>("namespace")
            .into_iter()
            .flatten()
            .cloned()
            .collect();
        match output {
            Output::Helm(_) if given != run.namespaces => {
                let problem =
                    "the namespaces are values of the chart: write --namespace before `--`";
                return Err(error(problem.into()));
            }
            Output::Helm(_) if matches.contains_id(OPERATOR_NAMESPACE) => {
                let problem = "--operator-namespace has no effect with --output helm: `helm install --namespace` decides; remove the flag";
                return Err(error(problem.into()));
            }
            Output::Helm(_) if creates_namespace => {
                return Err(error(format!(
                    "--{CREATE_NAMESPACE} has no effect with --output helm: use `helm install --create-namespace`, and remove the flag"
                )));
            }
            _ => {}
        }
        let namespace = match output {
            Output::Helm(_) => Chart::NAMESPACE.to_owned(),
            _ => operator_namespace(operator, matches),
        };
        if creates_namespace && is_of_every_cluster(&namespace) {
            return Err(error(format!(
                "every cluster has the namespace {namespace}: remove --{CREATE_NAMESPACE}"
            )));
        }
        Ok(Self {
            output,
            image: image.to_owned(),
            replicas,
            creates_namespace,
            service_monitor,
            pod_monitor,
            prometheus_rule,
            args,
            roles: RolesOptions {
                namespace,
                installs: false,
                check: check(matches),
                run,
            },
        })
    }
}

/// The folder at which the Secret with the certificate is mounted. `None` if the operator is given no certificate.
fn mounted_folder(serving: &Serving) -> Result<Option<&Path>, clap::Error> {
    let Some((certificate, key)) = serving.files() else {
        return Ok(None);
    };
    match serving.certificate_folder() {
        Some(folder) => Ok(Some(folder)),
        None => Err(error(format!(
            "the certificate {} and its key {} are in two folders, but a pod has one Secret with both: put them into one folder in \
             `Serving::https`, or write --metrics-cert-path /certificate",
            certificate.display(),
            key.display()
        ))),
    }
}

/// Whether others can connect to a program in a pod that listens at this address.
fn is_reachable(address: Address) -> bool {
    let is_local = address.host.is_some_and(|host| !host.is_unspecified());
    !is_local && address.port != 0
}

/// The form of the output. A folder is written, unless it is named by `--check`.
fn output(operator: &str, matches: &ArgMatches) -> Result<Output, clap::Error> {
    let given = matches.get_many::<String>(OUTPUT).into_iter().flatten();
    let given: Vec<&str> = given.map(String::as_str).collect();
    let checked = check(matches);
    let (format, folder) = match *given {
        [] | ["yaml"] => return Ok(Output::Yaml),
        [format] => (format, None),
        [format, folder, ..] => (format, Some(PathBuf::from(folder))),
    };
    if format == "yaml" {
        let problem = "--output yaml writes no folder: send the output to a file, `> FILE`";
        return Err(error(problem.into()));
    }
    if !["kustomize", "helm"].contains(&format) {
        return Err(error(format!(
            "--output has no format `{format}`: write yaml, kustomize or helm"
        )));
    }
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let folder = match (folder, checked) {
        (Some(folder), None) | (None, Some(folder)) => folder,
        (Some(_), Some(_)) => {
            return Err(error(format!(
                "a folder is either written or compared: write `--output {format} --check DIR` to compare"
            )));
        }
        (None, None) => {
            return Err(error(format!(
                "--output {format} needs a folder: `{operator} manifests --image … --output {format} deploy/{format}`"
            )));
        }
    };
    Ok(match format {
        "kustomize" => Output::Kustomize(folder),
        _ => Output::Helm(folder),
    })
}

fn check(matches: &ArgMatches) -> Option<PathBuf> {
    matches.get_one::<PathBuf>(CHECK).cloned()
}

fn operator_namespace(operator: &str, matches: &ArgMatches) -> String {
    let given = matches.get_one::<String>(OPERATOR_NAMESPACE);
    given
        .cloned()
        .unwrap_or_else(|| format!("{operator}-system"))
}

fn kubeconfig(matches: &ArgMatches) -> KubeconfigOptions {
    KubeconfigOptions {
        path: matches.get_one::<PathBuf>("kubeconfig").cloned(),
        context: matches.get_one::<String>("context").cloned(),
        ..KubeconfigOptions::default()
    }
}

/// The script with which a shell completes this command line.
fn completions(shell: Option<Shell>, mut command: Command) -> String {
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(
        shell.unwrap_or(Shell::Bash),
        &mut command,
        name,
        &mut script,
    );
    String::from_utf8_lossy(&script).into_owned()
}

impl RunOptions {
    fn read(operator: &str, defaults: &Defaults, settings: &Settings) -> Result<Self, clap::Error> {
        let matches = &settings.matches;
        let names = matches.get_many::<String>("namespace");
        let mut known = BTreeSet::new();
        let mut given = names.clone().into_iter().flatten();
        if let Some(twice) = given.find(|name| !known.insert(*name)) {
            return Err(error(format!(
                "--namespace ({}) names `{twice}` twice: name each namespace once",
                settings.origin("namespace")
            )));
        }
        let metrics_address = matches.get_one::<MetricsAddress>("metrics-address");
        let json = matches.get_one::<String>("log-format");
        Ok(Self {
            namespaces: match names {
                Some(names) => names.cloned().collect(),
                None => defaults.namespaces.clone(),
            },
            election: ElectionFlags::read(operator, defaults, settings)?,
            metrics_address: metrics_address.and_then(|address| address.0),
            serving: ServingFlags::read(defaults, settings)?,
            webhooks: defaults
                .webhooks
                .as_ref()
                .map(|program| read_webhook_serving(program, matches)),
            log: matches.get_one("log").cloned().unwrap_or_default(),
            log_format: match json.map(String::as_str) {
                Some("json") => LogFormat::Json,
                _ => LogFormat::Text,
            },
        })
    }
}
