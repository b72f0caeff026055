//! Names on the command line that two parts of a program want.

use clap::{Arg, Args, Command};

use super::{Defaults, command};
use crate::operator::NoFlags;

/// Names that clap adds to each command. The flag `--version` may be the program's own.
const HELP: &str = "help";

/// The first name of the program's own flags or subcommands that is taken. The text says by what, and what to do.
pub(in crate::operator) fn clash<F: Args>(name: &str, defaults: &Defaults) -> Option<String> {
    let alone = Defaults {
        subcommands: Vec::new(),
        ..defaults.clone()
    };
    let mut framework = command::<NoFlags>(name, &alone);
    framework.build();
    let own = F::augment_args(Command::new(""));
    let flags = own
        .get_arguments()
        .find_map(|arg| flag_clash(arg, &framework));
    flags.or_else(|| subcommand_clash(&defaults.subcommands, &framework))
}

fn flag_clash(own: &Arg, framework: &Command) -> Option<String> {
    if own.get_id() == "version" {
        return None;
    }
    let with_flags = ["run", "dev"].map(|name| framework.find_subcommand(name));
    let others = with_flags
        .into_iter()
        .flatten()
        .flat_map(Command::get_arguments)
        .filter(|other| other.get_id() != "version");
    let shown = match own.get_long() {
        Some(long) => format!("--{long}"),
        None => own.get_id().to_string(),
    };
    for other in others {
        let framework = other.get_long().unwrap_or_default();
        if own.get_long().is_some() && own.get_long() == other.get_long() {
            return Some(format!(
                "the framework has a flag `{shown}`, too: give the program's flag another name"
            ));
        }
        if let Some(short) = own.get_short()
            && other.get_short() == Some(short)
        {
            return Some(format!(
                "`-{short}` of the program's flag `{shown}` is the framework's `--{framework}`: choose another letter, or none"
            ));
        }
        if own.get_id() == other.get_id() {
            return Some(format!(
                "the program's flag `{shown}` has the id `{}`, which is that of the framework's `--{framework}`: rename its field",
                own.get_id()
            ));
        }
    }
    None
}

fn subcommand_clash(own: &[Command], framework: &Command) -> Option<String> {
    let mut taken: Vec<&str> = framework.get_subcommands().flat_map(names).collect();
    taken.push(HELP);
    let frameworks = taken.len();
    for command in own {
        for name in names(command) {
            let place = taken.iter().position(|other| *other == name);
            if let Some(place) = place {
                return Some(match place < frameworks {
                    true => format!(
                        "the framework has a subcommand `{name}`, too: give the program's subcommand another name"
                    ),
                    false => format!("the program has two subcommands `{name}`: rename one"),
                });
            }
        }
        taken.extend(names(command));
        if let Some(flag) = cluster_flag(command) {
            let name = command.get_name();
            return Some(format!(
                "the framework adds the flag `--{flag}` to the program's subcommand `{name}`: remove the program's flag, and connect with \
                 `CommandSetup::client`"
            ));
        }
    }
    None
}

fn names(command: &Command) -> Vec<&str> {
    let mut names = vec![command.get_name()];
    names.extend(command.get_all_aliases());
    names
}

/// A flag of the program's own subcommand that the framework adds, too.
fn cluster_flag(command: &Command) -> Option<&'static str> {
    let mut args = command.get_arguments();
    let found = args.find_map(|arg| {
        super::command::CLUSTER_FLAGS
            .into_iter()
            .find(|flag| arg.get_long() == Some(*flag) || arg.get_id() == *flag)
    });
    found.or_else(|| command.get_subcommands().find_map(cluster_flag))
}

#[cfg(test)]
mod tests {
    use clap::{ArgMatches, FromArgMatches};

    use super::*;

    /// Flags of a program that a function of the test describes.
    macro_rules! flags {
        ($name:ident, $($arg:expr),+) => {
            struct $name;
            impl FromArgMatches for $name {
                fn from_arg_matches(_: &ArgMatches) -> Result<Self, clap::Error> {
                    Ok(Self)
                }
                fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), clap::Error> {
                    Ok(())
                }
            }
            impl Args for $name {
                fn augment_args(command: Command) -> Command {
                    command.args([$($arg),+])
                }
                fn augment_args_for_update(command: Command) -> Command {
                    command
                }
            }
        };
    }

    flags!(
        Apart,
        Arg::new("image").long("image").short('i'),
        Arg::new("version").long("version")
    );
    flags!(Long, Arg::new("my-log").long("log"));
    flags!(DevOnly, Arg::new("files").long("install"));
    flags!(Short, Arg::new("image").long("image").short('n'));
    flags!(Help, Arg::new("host").long("host").short('h'));
    flags!(Id, Arg::new("context").long("my-context"));

    #[test]
    fn a_flag_with_a_name_of_the_framework_is_refused_with_what_to_do() {
        let defaults = Defaults::default();
        assert_eq!(clash::<NoFlags>("site", &defaults), None);
        assert_eq!(clash::<Apart>("site", &defaults), None);
        for (text, expected) in [
            (
                clash::<Long>("site", &defaults),
                "the framework has a flag `--log`, too",
            ),
            (
                clash::<DevOnly>("site", &defaults),
                "the framework has a flag `--install`, too",
            ),
            (
                clash::<Short>("site", &defaults),
                "`-n` of the program's flag `--image` is the framework's `--namespace`: choose another letter",
            ),
            (
                clash::<Help>("site", &defaults),
                "`-h` of the program's flag `--host` is the framework's `--help`",
            ),
            (
                clash::<Id>("site", &defaults),
                "has the id `context`, which is that of the framework's `--context`: rename its field",
            ),
        ] {
            let text = text.unwrap_or_default();
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn a_subcommand_with_a_taken_name_is_refused_with_what_to_do() {
        let of = |subcommands: Vec<Command>| {
            let defaults = Defaults {
                subcommands,
                ..Defaults::default()
            };
            clash::<NoFlags>("site", &defaults)
        };
        let command = |name: &'static str| Command::new(name);
        let fits = command("names")
            .alias("ls")
            .arg(Arg::new("namespace").long("namespace"));
        assert_eq!(of(vec![fits, command("text")]), None);
        for name in [
            "run",
            "dev",
            "crd",
            "rbac",
            "manifests",
            "alerts",
            "dashboard",
            "completions",
            "version",
            "help",
        ] {
            let text = of(vec![command(name)]).unwrap_or_default();
            let expected = format!("the framework has a subcommand `{name}`, too");
            assert!(text.starts_with(&expected), "{text}");
            assert!(of(vec![command("text").alias(name)]).is_some(), "{name}");
        }
        let twice = of(vec![command("names"), command("text").alias("names")]);
        assert_eq!(
            twice.as_deref(),
            Some("the program has two subcommands `names`: rename one")
        );
        let below =
            command("db").subcommand(command("migrate").arg(Arg::new("x").long("kubeconfig")));
        let text = of(vec![below]).unwrap_or_default();
        assert!(
            text.contains("the framework adds the flag `--kubeconfig`"),
            "{text}"
        );
    }
}
