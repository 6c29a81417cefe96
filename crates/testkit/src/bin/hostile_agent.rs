//! An agent that has gone over to the other side: it stands in for `cloister-agent` in every kind of sandbox,
//! speaks the link by itself, and takes whatever it can get.

fn main() -> std::process::ExitCode {
    cloister_testkit::hostile::main()
}
