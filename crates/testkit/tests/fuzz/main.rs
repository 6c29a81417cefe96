//! Parsers that see bytes of cells and of the network, as far as their crates offer them to others.
//! Those that are private to a crate have their `fuzz_…` tests there.

#[cfg(test)]
mod egress;
#[cfg(test)]
mod frames;
#[cfg(test)]
mod paths;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod shell;
#[cfg(test)]
mod shown;
