/* Feeds texts to the check of what a hook says: u32 length (big-endian) and the text, again and again; for each a `1` when it
 * is one object, else a `0`. The texts are copied to memory of exactly their size, so that reading past the end shows. */
#define VERDIKT_HOOK_PARTS
#include "verdikt-hook.c"

#include <stdio.h>

int main(void) {
    unsigned char prefix[4];
    while (fread(prefix, 1, sizeof prefix, stdin) == sizeof prefix) {
        size_t length = (size_t)prefix[0] << 24 | (size_t)prefix[1] << 16 | (size_t)prefix[2] << 8 | prefix[3];
        char *text = malloc(length > 0 ? length : 1);
        if (text == NULL || fread(text, 1, length, stdin) != length) return 1;
        putchar(is_one_object(text, length) ? '1' : '0');
        free(text);
    }
    return 0;
}
