//! Matrix, as a person meets it: the real programs, a real homeserver, independent clients, a scripted model.
//!
//! The homeserver is installed by `scripts/synapse` (`make test` does it) and shared by all tests of a run.

#![recursion_limit = "256"]

#[cfg(test)]
mod admin;
#[cfg(test)]
mod backlog;
#[cfg(test)]
mod client;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod conversation;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod incoming;
#[cfg(test)]
mod independent;
#[cfg(test)]
mod independent_rooms;
#[cfg(test)]
mod outgoing;
#[cfg(test)]
mod person;
#[cfg(test)]
mod restart;
#[cfg(test)]
mod rooms;
#[cfg(test)]
mod sealed;
#[cfg(test)]
mod smoke;
#[cfg(test)]
mod trust;
#[cfg(test)]
mod world;
