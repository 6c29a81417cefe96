//! Discord, as a person meets it: the real programs, a fake Discord that speaks the real wire format, a scripted
//! model.

#[cfg(test)]
mod admin;
#[cfg(test)]
mod buttons;

#[cfg(test)]
mod channels;
mod coming_back;
#[cfg(test)]
mod conversation;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod gateway;
#[cfg(test)]
mod hub;
#[cfg(test)]
mod incoming;
#[cfg(test)]
mod interactions;
#[cfg(test)]
mod outgoing;
#[cfg(test)]
mod privately;
#[cfg(test)]
mod smoke;
#[cfg(test)]
mod waiting;
#[cfg(test)]
mod world;
