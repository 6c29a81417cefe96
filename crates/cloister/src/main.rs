//! The program `cloister`; what it does is in the library beside it.

fn main() -> std::process::ExitCode {
    cloister::main()
}
