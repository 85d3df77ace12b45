/* Feeds texts to the check of what the warm process says: u8 status, u32 length (big-endian) and the text, again and again; for
 * each a `1` when it may be handed on, else a `0`. The texts are copied to memory of exactly their size, so that reading past the
 * end shows. */
#define VERDIKT_HOOK_PARTS
#include "verdikt-hook.c"

#include <stdio.h>

int main(void) {
    char prefix[5];
    while (fread(prefix, 1, sizeof prefix, stdin) == sizeof prefix) {
        size_t length = length_at(prefix + 1);
        char *text = malloc(length > 0 ? length : 1);
        if (text == NULL || fread(text, 1, length, stdin) != length) return 1;
        putchar(is_decision(prefix[0], text, length, 1) ? '1' : '0');
        free(text);
    }
    return 0;
}
