use clap::{ArgMatches, Args, Command, FromArgMatches};

/// No flags beyond the framework's own: what [`Operator::main`](super::Operator::main) takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoFlags;

impl FromArgMatches for NoFlags {
    fn from_arg_matches(_: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self)
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), clap::Error> {
        Ok(())
    }
}

impl Args for NoFlags {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
