//! Telegram, as a person meets it: the real programs, a Telegram that checks what it is sent, people with
//! clients, a scripted model.

#[cfg(test)]
mod admin;
#[cfg(test)]
mod buttons;
mod coming_back;
#[cfg(test)]
mod conversation;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod groups;
#[cfg(test)]
mod history;
#[cfg(test)]
mod hub;
#[cfg(test)]
mod incoming;
#[cfg(test)]
mod independent;
#[cfg(test)]
mod outgoing;
#[cfg(test)]
mod owner;
#[cfg(test)]
mod program;
#[cfg(test)]
mod restart;
#[cfg(test)]
mod smoke;
#[cfg(test)]
mod streaming;
#[cfg(test)]
mod topics;
#[cfg(test)]
mod webhook;
#[cfg(test)]
mod world;
