//! What a handler takes and answers, read from its signature: the description of the API can't say
//! anything else.

use axum::Extension;
use axum::extract::State as Extract;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::authorise::Asker;
use crate::caller::Caller;
use crate::reply::{Answer, Body, Path, Query};

/// Makes the schema of one type.
pub(crate) type Describe = fn(&mut SchemaGenerator) -> Schema;

/// What goes into a call and what comes out, beside what its path names.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) body: Option<Describe>,
    pub(crate) query: Option<Describe>,
    pub(crate) answer: Option<Describe>,
}

/// An argument of a handler.
pub(crate) trait Taken {
    fn describe(_shape: &mut Shape) {}
}

impl<T: JsonSchema> Taken for Body<T> {
    fn describe(shape: &mut Shape) {
        shape.body = Some(|generator| generator.subschema_for::<T>());
    }
}

impl<T: JsonSchema> Taken for Query<T> {
    fn describe(shape: &mut Shape) {
        shape.query = Some(|generator| T::json_schema(generator));
    }
}

impl<T> Taken for Path<T> {}
impl<T> Taken for Extract<T> {}
impl<T> Taken for Extension<T> {}
impl<T: Taken> Taken for Option<T> {}
impl Taken for Asker {}
impl Taken for Caller {}

/// What a handler answers.
pub(crate) trait Answered {
    fn describe(shape: &mut Shape);
}

impl<T: JsonSchema> Answered for Answer<T> {
    fn describe(shape: &mut Shape) {
        shape.answer = Some(|generator| generator.subschema_for::<T>());
    }
}

/// A handler whose signature says all. `T` is what axum calls its arguments.
pub(crate) trait Described<T> {
    fn shape() -> Shape;
}

impl<F, Fut, R> Described<((),)> for F
where
    F: Fn() -> Fut,
    Fut: Future<Output = R>,
    R: Answered,
{
    fn shape() -> Shape {
        let mut shape = Shape::default();
        R::describe(&mut shape);
        shape
    }
}

macro_rules! described {
    ($($argument:ident)+) => {
        impl<F, Fut, R, M, $($argument),+> Described<(M, $($argument,)+)> for F
        where
            F: Fn($($argument),+) -> Fut,
            Fut: Future<Output = R>,
            R: Answered,
            $($argument: Taken,)+
        {
            fn shape() -> Shape {
                let mut shape = Shape::default();
                $($argument::describe(&mut shape);)+
                R::describe(&mut shape);
                shape
            }
        }
    };
}

described!(A1);
described!(A1 A2);
described!(A1 A2 A3);
described!(A1 A2 A3 A4);
described!(A1 A2 A3 A4 A5);
described!(A1 A2 A3 A4 A5 A6);
