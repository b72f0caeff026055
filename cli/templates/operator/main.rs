use pilothouse::prelude::*;

fn main() -> ExitCode {
    {{library}}::operator()
        .example("{{folder}}example/{{singular}}.yaml")
        .main()
}
