//! The whole product, as a person meets it: the real programs, real sandboxes, a scripted model.

#[cfg(test)]
mod admin_mtls;
#[cfg(test)]
mod agents;
#[cfg(test)]
mod asking;
#[cfg(test)]
mod audit;
#[cfg(test)]
mod brokered;
#[cfg(test)]
mod browsing;
#[cfg(test)]
mod budgets;
#[cfg(test)]
mod chats;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod config_history;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod connectors;
#[cfg(test)]
mod conversation;
#[cfg(test)]
mod durable;
#[cfg(test)]
mod egress;
#[cfg(test)]
mod emergency_stop;
#[cfg(test)]
mod exposition;
#[cfg(test)]
mod files;
#[cfg(test)]
mod flood;
#[cfg(test)]
mod gates;
mod held;
#[cfg(test)]
mod independent;
#[cfg(test)]
mod isolation;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod members;
#[cfg(test)]
mod model_pages;
#[cfg(test)]
mod models;
#[cfg(test)]
mod network;
#[cfg(test)]
mod onboarding;
#[cfg(test)]
mod operations;
#[cfg(test)]
mod origins;
#[cfg(test)]
mod personal;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod quota;
#[cfg(test)]
mod readme;
#[cfg(test)]
mod rebuilt;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod socket;
#[cfg(test)]
mod tasks;
#[cfg(test)]
mod tenancy;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod unprivileged;
#[cfg(test)]
mod world;
