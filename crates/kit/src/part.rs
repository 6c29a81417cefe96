//! The parts of a whole, such as of a bot.

/// Defines the handle of a part: the whole itself, seen as that part. It costs nothing. What a part remembers is private
/// to its module; all that others can do with it are the handle's methods.
#[macro_export]
macro_rules! part {
    ($(#[$doc:meta])* $vis:vis struct $name:ident of $bot:ty;) => {
        $crate::part! { $(#[$doc])* $vis struct $name seen in bot: $bot; }
    };
    ($(#[$doc:meta])* $vis:vis struct $name:ident seen in $field:ident: $whole:ty;) => {
        $(#[$doc])*
        #[derive(ref_cast::RefCast)]
        #[repr(transparent)]
        $vis struct $name {
            $field: $whole,
        }
    };
}
