//! The pages, in a real Chromium, on the real product.

#[cfg(test)]
mod approvals;
#[cfg(test)]
mod branches;
#[cfg(test)]
mod comfort;
#[cfg(test)]
mod conversation;
#[cfg(test)]
mod files;
#[cfg(test)]
mod finding;
#[cfg(test)]
mod first_day;
#[cfg(test)]
mod gallery;
#[cfg(test)]
mod languages;
#[cfg(test)]
mod layout;
#[cfg(test)]
mod order;
#[cfg(test)]
mod safety;
#[cfg(test)]
mod session;
#[cfg(test)]
mod taken_back;
#[cfg(test)]
mod tasks;
#[cfg(test)]
mod without_script;
#[cfg(test)]
mod world;
#[cfg(test)]
mod writing;
