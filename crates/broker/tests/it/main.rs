//! Real doors, a real database and a provider that does what each test asks of it.

#[cfg(test)]
mod budget;
#[cfg(test)]
mod egress;
#[cfg(test)]
mod fallback;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod kinds;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod link;
#[cfg(test)]
mod masking;
#[cfg(test)]
mod models;
#[cfg(test)]
mod oddities;
#[cfg(test)]
#[path = "../../../lab/src/bench/open_gate.rs"]
mod open_gate;
#[cfg(test)]
mod overhead;
#[cfg(test)]
mod trial;
