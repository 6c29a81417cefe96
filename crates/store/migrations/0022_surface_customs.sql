-- What the connector of a surface says is different there.
CREATE TABLE surfaces (
    name    TEXT NOT NULL PRIMARY KEY,
    customs TEXT NOT NULL
) STRICT;

-- What was known by the name of the surface before connectors said it: it holds until they do.
INSERT INTO surfaces (name, customs)
SELECT DISTINCT surface, '{"command_sign":"!","room_per_chat":true,"sees_readers":true}'
FROM connectors WHERE surface = 'matrix';
