use pilothouse::prelude::*;

fn main() -> ExitCode {
    greeting::operator().example("example/greeting.yaml").main()
}
