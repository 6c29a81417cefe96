//! The escape suite: attacks the sandbox from inside, for real.
//!
//! Each row of the list runs twice. Against the launcher as it is shipped every step must fail;
//! against a launcher with layers missing (`examples/weak_launcher.rs`) or limits loosened at least
//! one step must succeed, so that the row is known to bite. Where the kernel alone refuses, whatever
//! we leave out, the table says so.
//!
//! Started by root, every test runs both halves: as root, and again as an ordinary user. Started by an
//! ordinary user it runs that half alone. The tables go to `target/escape-report.txt`.
//!
//! `CLOISTER_ESCAPE_LONG=1` runs the long form: a minute of random system calls, 1000 life cycles, a
//! gigabyte of output.

#[cfg(test)]
mod files;
#[cfg(test)]
mod halves;
#[cfg(test)]
mod host;
#[cfg(test)]
mod kernel;
#[cfg(test)]
mod life_cycle;
#[cfg(test)]
mod network;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod refusal;
#[cfg(test)]
mod resources;
#[cfg(test)]
mod steering;
#[cfg(test)]
mod suite;

use halves::in_halves;

#[test]
fn files_stay_closed() {
    in_halves("files_stay_closed", |suite| Box::pin(files::attack(suite)));
}

#[test]
fn what_steers_the_agent_stays_as_it_is() {
    in_halves("what_steers_the_agent_stays_as_it_is", |suite| Box::pin(steering::attack(suite)));
}

#[test]
fn processes_stay_apart() {
    in_halves("processes_stay_apart", |suite| Box::pin(processes::attack(suite)));
}

#[test]
fn kernel_stays_out_of_reach() {
    in_halves("kernel_stays_out_of_reach", |suite| Box::pin(kernel::attack(suite)));
}

#[test]
fn network_stays_out_of_reach() {
    in_halves("network_stays_out_of_reach", |suite| Box::pin(network::attack(suite)));
}

#[test]
fn a_missing_layer_refuses_the_launch() {
    in_halves("a_missing_layer_refuses_the_launch", |suite| Box::pin(refusal::attack(suite)));
}

#[test]
fn resources_stay_bounded() {
    in_halves("resources_stay_bounded", |suite| Box::pin(resources::attack(suite)));
}

#[test]
fn nothing_is_left_behind() {
    in_halves("nothing_is_left_behind", |suite| Box::pin(life_cycle::attack(suite)));
}
